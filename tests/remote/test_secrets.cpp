// Secrets of ~/.netrc and of a file of headers: how they are read, and to whom they go.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "transport/host_secrets.h"
#include "transport/netrc.h"

namespace h5mount::remote {
namespace {

std::string login_of(std::string_view text, const std::string& host = "h") {
  const NetrcLogins logins = parse_netrc(text);
  const auto found = logins.find(host);
  return found == logins.end() ? "none" : found->second.user + "|" + found->second.password;
}

TEST(Netrc, WordsMayStandInQuotesAsCurlReadsThem) {
  EXPECT_EQ(login_of("machine h login me password \"two words\""), "me|two words");
  EXPECT_EQ(login_of(R"(machine h login "a\"b" password "c\\d\te\n")"), "a\"b|c\\d\te\n");
  EXPECT_EQ(login_of("machine \"h\"\nlogin \"\"\npassword x"), "|x");
  EXPECT_EQ(login_of("machine h login me password a\"b"), "me|a\"b") << "a quote within a word";
  EXPECT_EQ(login_of("machine h login me password \"#x\""), "me|#x");
  EXPECT_EQ(login_of(R"(machine h login me password a\b)"), "me|a\\b") << "an escape is one in quotes alone";
  EXPECT_EQ(login_of("machine h login me password \"open\nmachine i login x password y", "i"), "none");
}

TEST(Netrc, EntriesAreThoseOfMachines) {
  const char* const text =
      "# machine h login no password no\n"
      "default login d password d\n"
      "machine H login first password 1 account x\r\n"
      "machine h login second password 2\n"
      "macdef init\nmachine i login no password no\n\n"
      "MACHINE i password 3 LOGIN third\n";
  EXPECT_EQ(login_of(text), "first|1");
  EXPECT_EQ(login_of(text, "i"), "third|3");
  EXPECT_EQ(parse_netrc(text).size(), 2U);
  EXPECT_EQ(login_of("machine h"), "|");
  EXPECT_EQ(parse_netrc("login password machine").size(), 0U);
}

// What is sent to a host after the user's own URL led there.
class HostSecretsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    place_ = std::filesystem::temp_directory_path() / ("h5mount-secrets-" + std::to_string(::getpid()));
    std::filesystem::create_directories(place_);
    std::ofstream(place_ / "netrc") << "machine own login me password netrc-own\n"
                                       "machine other login me password netrc-other\n";
    std::ofstream(place_ / "headers") << "own X-Key: header-own\nother X-Key: header-other\n";
    ::chmod((place_ / "headers").c_str(), 0600);
    ::setenv("NETRC", (place_ / "netrc").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("NETRC");
    std::filesystem::remove_all(place_);
  }

  std::string sent(const char* asked, const char* hop) const {
    const auto secrets = HostSecrets::load(place_ / "headers");
    HttpRequest request;
    if (secrets) secrets->add(*parse_url(asked), *parse_url(hop), request);
    std::string out = request.password;
    for (const auto& [name, value] : request.headers) out += " " + value;
    return out;
  }
  std::filesystem::path place_;
};

TEST_F(HostSecretsTest, GoInTheClearOnlyWhereTheUsersOwnUrlDoes) {
  EXPECT_EQ(sent("http://own/x", "http://own/y"), "netrc-own header-own");
  EXPECT_EQ(sent("http://own/x", "http://own:8080/y"), "netrc-own header-own");
  EXPECT_EQ(sent("http://own/x", "http://other/y"), "") << "a redirect of anybody";
  EXPECT_EQ(sent("http://own/x", "https://other/y"), "netrc-other header-other");
  EXPECT_EQ(sent("https://own/x", "http://own/y"), "");
  EXPECT_EQ(sent("https://own/x", "http://other/y"), "");
  EXPECT_EQ(sent("https://own/x", "https://other/y"), "netrc-other header-other");
  EXPECT_EQ(sent("s3://own/x", "http://own/y"), "");
  EXPECT_EQ(sent("http://u:url@own/x", "http://own/y"), "url header-own");
  EXPECT_EQ(sent("http://u:url@own/x", "http://other/y"), "");
  EXPECT_EQ(sent("https://u:url@own/x", "http://own/y"), "");
}

}  // namespace
}  // namespace h5mount::remote

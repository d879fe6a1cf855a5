#include "http/access_token.h"

#include <gtest/gtest.h>

namespace h5mount::serve {
namespace {

const std::string kToken = "0123456789abcdefghij";

unsigned status_for(const std::string& target, std::vector<Header> headers,
                    const std::string& token = kToken) {
  const Request request{"GET", target, std::move(headers)};
  EXPECT_TRUE(request.target) << target;
  const auto instead = AccessToken(token, 80).answer_instead(request);
  return instead ? instead->status : 200;
}

TEST(AccessToken, NothingShorterLongerOrElseIsTaken) {
  EXPECT_EQ(status_for("/", {}, ""), 200U);
  EXPECT_EQ(status_for("/", {{"Authorization", "Bearer "}}, ""), 200U);
  for (std::size_t i = 0; i < kToken.size(); ++i) {
    std::string other = kToken;
    other[i] ^= 1;
    EXPECT_EQ(status_for("/", {{"Authorization", "Bearer " + other}}), 401U);
    EXPECT_EQ(status_for("/", {{"Authorization", "Bearer " + kToken.substr(0, i)}}), 401U);
    EXPECT_EQ(status_for("/?token=" + other, {}), 401U);
    EXPECT_EQ(status_for("/?token=" + kToken.substr(0, i), {}), 401U);
  }
  for (const std::string& wrong : {kToken + kToken, kToken + "x", std::string(), std::string("\0", 1)})
    EXPECT_EQ(status_for("/", {{"Authorization", "Bearer " + wrong}}), 401U) << wrong;
  EXPECT_EQ(status_for("/", {{"Authorization", "Bearer " + kToken}}), 200U);
}

TEST(AccessToken, FieldsOfEveryFormAreSafe) {
  for (const char* value : {"", "Basic", "Basic ", "Basic =", "Basic Og==", "Basic OnRva2Vu",
                            "Basic \xff\xff", "Digest x", "Bearer", "Bearer,", ",", "Basic AAAAAAAAAAAAAAAA"})
    EXPECT_EQ(status_for("/", {{"Authorization", value}}), 401U) << value;
  for (const char* value :
       {"", "=", ";", "h5mount-80", "h5mount-80=", ";;=;h5mount-80=;", "h5mount-80==", ","})
    EXPECT_EQ(status_for("/", {{"Cookie", value}}), 401U) << value;
  EXPECT_EQ(status_for("/", {{"Cookie", "x=1;h5mount-80=" + kToken}}), 200U);
  EXPECT_EQ(status_for("/", {{"Cookie", "x=1"}, {"cookie", "h5mount-80=" + kToken}}), 200U);
  EXPECT_EQ(status_for("/", {{"Cookie", "h5mount-81=" + kToken}}), 401U);
}

TEST(AccessToken, TargetsForTheLogHaveNone) {
  EXPECT_EQ(without_token("/a?token=x"), "/a");
  EXPECT_EQ(without_token("/a?list&token=x&y"), "/a?list&y");
  EXPECT_EQ(without_token("/a?token=x&token=y"), "/a");
  EXPECT_EQ(without_token("/a?%74ok%65n=x"), "/a");
  EXPECT_EQ(without_token("/token=x?list"), "/token=x?list");
  EXPECT_EQ(without_token("*"), "*");
  EXPECT_EQ(without_token("/a?X-Amz-Date=1&X-Amz-Signature=x&X-Amz-Security-Token=y"), "/a?X-Amz-Date=1");
}

}  // namespace
}  // namespace h5mount::serve

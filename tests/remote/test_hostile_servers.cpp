// Servers that claim, lie or send something else, through the programs.
#include "remote_command.h"

namespace h5mount::test {
namespace {

using HostileServerTest = RemoteCommandTest;

// Bytes that nobody sent were what lay in the program's memory: through a server, other clients' requests.
TEST_F(HostileServerTest, ALengthThatNoFileHasIsRefused) {
  for (const char* length : {"9223372036854775808", "18446744073709551615"}) {
    const std::string url = "${U}!length=" + std::string(length) + "/beyond.h5";
    const Outcome cat = with_url("$H5MOUNT --cat -o timeout=3 " + url + " d");
    EXPECT_EQ(cat.code, 1) << cat.err;
    EXPECT_EQ(cat.out, "");
    EXPECT_NE(cat.err.find("more than a file can have"), std::string::npos) << cat.err;
    EXPECT_EQ(with_url("timeout 20 $H5MOUNT --serve 0 -o timeout=3 " + url).code, 1);
    EXPECT_EQ(with_url("$F -q -o timeout=3 " + url).code, 8);
  }
}

// The server answers with zeros there, and so does a read: whatever is shown was asked for.
TEST_F(HostileServerTest, TheEndOfTheLongestObjectIsWhatTheServerSends) {
  const Outcome cat = with_url(
      "$H5MOUNT --cat -o timeout=3 ${U}!length=9223372036854775807/end.h5 d | od -An -tu8 | sort -u");
  EXPECT_EQ(cat.out.substr(0, cat.out.find('\n')).find_first_not_of(" 0"), std::string::npos) << cat.out;
  EXPECT_EQ(lines_in(cat.out), 2) << "zeros, and od's sign of more of them: " << cat.out << cat.err;
  EXPECT_NE(server->requests().find("9223372036854775"), std::string::npos);
  const Outcome served =
      with_url(R"(mkfifo said; $H5MOUNT --serve 0 ${U}!length=9223372036854775807/end.h5 > said & served=$!
read line < said
for i in 1 2 3 4 5; do
  curl -s -H 'Authorization: Bearer of-another-client' "${line}?list" > /dev/null
  curl -sf ${line}d | tr -d '\0' | wc -c
done
kill $served; wait)");
  EXPECT_EQ(served.out, "0\n0\n0\n0\n0\n") << served.err;
}

}  // namespace
}  // namespace h5mount::test

#include <gtest/gtest.h>

#include "h5mount/remote/url.h"

namespace h5mount::remote {
namespace {

TEST(RemoteUrl, IsTakenApart) {
  const auto url = parse_url("HTTPS://me:p%40ss@Example.ORG:8443/a b/\xc3\xa4?sig=x%2F#part");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->user, "me");
  EXPECT_EQ(url->password, "p@ss");
  EXPECT_EQ(url->sent(), "https://example.org:8443/a%20b/%C3%A4?sig=x%2F");
  EXPECT_EQ(url->shown(), "https://example.org:8443/a%20b/%C3%A4");
  EXPECT_EQ(parse_url("http://h:80")->sent(), "http://h/");
  EXPECT_EQ(parse_url("http://[::1]:8000/x")->origin(), "http://[::1]:8000");
  EXPECT_EQ(parse_url("http://h/?q")->shown(), "http://h/");
}

TEST(RemoteUrl, OfS3HasTheKeyByteForByte) {
  const auto url = parse_url("s3://bucket/a%20b/c?d#e+f");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "bucket");
  EXPECT_EQ(url->target, "a%20b/c?d#e+f");
  EXPECT_EQ(url->shown(), "s3://bucket/a%20b/c?d#e+f");
}

TEST(RemoteUrl, OfS3ThatEndsInASlashIsAPrefix) {
  for (const char* text : {"s3://bucket/", "s3://bucket/a b/"}) EXPECT_TRUE(parse_url(text)->is_prefix());
  for (const char* text : {"s3://bucket/a", "https://host/a/"}) EXPECT_FALSE(parse_url(text)->is_prefix());
}

TEST(RemoteUrl, ThatCannotBeReadIsRefusedWithoutItsSecrets) {
  for (const char* text :
       {"ftp://h/x?secret", "http:///x?secret", "http://h:port/secret", "http://[::g]/secret",
        "http://secret@/x", "s3://", "s3://bucket", "http://h:123456/secret"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().text().find("secret"), std::string::npos) << url.error().text();
  }
  EXPECT_FALSE(is_url("/a/b://c"));
  EXPECT_FALSE(is_url("file.h5"));
  EXPECT_EQ(shown_url("http://u:p@h/x?q"), "http://h/x");
  EXPECT_EQ(shown_url("a/b"), "a/b");
}

TEST(RemoteUrl, OfARedirectIsRelativeToWhereItCameFrom) {
  const auto base = parse_url("https://u:p@h:8/a/b/c?q");
  const auto to = [&](std::string_view reference) { return resolve(*base, reference)->sent(); };
  EXPECT_EQ(to("d"), "https://h:8/a/b/d");
  EXPECT_EQ(to("../d?x=../y"), "https://h:8/a/d?x=../y");
  EXPECT_EQ(to("../../../.."), "https://h:8/");
  EXPECT_EQ(to("/e"), "https://h:8/e");
  EXPECT_EQ(to("//other/e"), "https://other/e");
  EXPECT_EQ(to("http://other/e#f"), "http://other/e");
  EXPECT_EQ(to("?z"), "https://h:8/a/b/c?z");
  EXPECT_TRUE(resolve(*base, "d")->user.empty());
  EXPECT_FALSE(resolve(*base, "file:///etc/passwd"));
  EXPECT_FALSE(resolve(*base, "s3://bucket/key"));
  EXPECT_EQ(to("./a:b"), "https://h:8/a/b/a:b");
  EXPECT_EQ(to("?x=file:y"), "https://h:8/a/b/c?x=file:y");
  for (const char* reference : {"FILE:///etc/passwd", "FILE:/etc/passwd", "file:etc/passwd", "File://x"}) {
    const auto refused = resolve(*base, reference);
    ASSERT_FALSE(refused) << reference;
    EXPECT_NE(refused.error().text().find("its scheme is file:"), std::string::npos)
        << refused.error().text();
  }
  EXPECT_FALSE(resolve(*base, "https:x"));
}

TEST(RemoteUrl, PrivateAddressesAreKnown) {
  for (const char* address :
       {"127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "0.0.0.0", "::1", "::", "fe80::1", "fd00:ec2::254", "::ffff:10.0.0.1"})
    EXPECT_TRUE(is_private_address(address)) << address;
  for (const char* address :
       {"8.8.8.8", "172.32.0.1", "192.169.0.1", "100.128.0.1", "2600::1", "::ffff:8.8.8.8", "example.org"})
    EXPECT_FALSE(is_private_address(address)) << address;
}

}  // namespace
}  // namespace h5mount::remote

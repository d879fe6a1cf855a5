// Pages of a bucket's keys: what is read of them, and what is no such page.
#include <gtest/gtest.h>

#include "aws/listing_xml.h"

namespace h5mount::remote {
namespace {

std::string page(const std::string& inside) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.example.org/\">" +
         inside + "</ListBucketResult>";
}
std::string key(const std::string& name) {
  return "<Contents><Key>" + name + "</Key><Size>5</Size></Contents>";
}

TEST(RemoteListing, HasKeysAndWhatTheyHaveInCommon) {
  const auto read = parse_listing(
      page("<Name>b</Name><Prefix>p/</Prefix><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
           "<NextContinuationToken>a&amp;b</NextContinuationToken>"
           "<Contents><Key>p/x%2By+z.h5</Key><LastModified>2026-11-25T01:02:03.000Z</LastModified>"
           "<ETag>&quot;e1&quot;</ETag><Size>12345678901</Size><Owner><ID>Key</ID></Owner></Contents>"
           "<CommonPrefixes><Prefix>p/2026/</Prefix></CommonPrefixes>"
           "<Contents><Key>p/</Key></Contents><CommonPrefixes><Prefix>p//</Prefix></CommonPrefixes>"),
      "p/", 4);
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->names.size(), 4U);
  EXPECT_EQ(read->names[0].name, "x+y z.h5");
  EXPECT_EQ(read->names[0].size, 12345678901U);
  EXPECT_EQ(read->names[0].entity_tag, "\"e1\"");
  EXPECT_EQ(read->names[0].modified, 1795568523);
  EXPECT_FALSE(read->names[0].directory);
  EXPECT_EQ(read->names[1].name, "2026");
  EXPECT_TRUE(read->names[1].directory);
  EXPECT_EQ(read->names[2].name + read->names[3].name, "");
  EXPECT_EQ(read->next, "a&b");
}

TEST(RemoteListing, OfAServerThatDoesNotEncodeIsTakenAsItIs) {
  const auto read = parse_listing(page(key("a%20b+c")), "", 1000);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->names.front().name, "a%20b+c");
  EXPECT_EQ(read->next, "");
}

TEST(RemoteListing, OfMoreNamesThanWereAskedForIsRefused) {
  const std::string shared = "<CommonPrefixes><Prefix>c/</Prefix></CommonPrefixes>";
  EXPECT_TRUE(parse_listing(page(key("a") + key("b") + shared), "", 3));
  const auto more = parse_listing(page(key("a") + key("b") + shared), "", 2);
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().text().find("more than the 2 names"), std::string::npos) << more.error().text();
  std::string many;
  for (int i = 0; i < 700'000; ++i) many += "<Contents/>";
  EXPECT_FALSE(parse_listing(page(many), "", 1000));
}

TEST(RemoteListing, ThatLiesIsRefused) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "no XML"},
      {"<html><body>Welcome", "no XML"},
      {"<Error><Code>X</Code></Error>", "another document"},
      {page(key("q/x")), "begin as was asked for"},
      {page(key("p/x/y")), "deeper"},
      {page("<CommonPrefixes><Prefix>p/x</Prefix></CommonPrefixes>"), "end in '/'"},
      {page("<CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes>"), "end in '/'"},
      {page("<Contents><Size>1</Size></Contents>"), "begin as was asked for"},
      {page("<IsTruncated>true</IsTruncated>"), "where it goes on"},
      {page("<a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a>"), "too deep"},
      {"<!DOCTYPE l [<!ENTITY a \"aaaa\">]><ListBucketResult>&a;</ListBucketResult>", "document type"}};
  for (const auto& [xml, words] : cases) {
    const auto read = parse_listing(xml, "p/", 1000);
    ASSERT_FALSE(read) << xml;
    EXPECT_NE(read.error().text().find(words), std::string::npos) << read.error().text();
  }
}

}  // namespace
}  // namespace h5mount::remote

#include "http/fields.h"

#include <gtest/gtest.h>

#include "http/conditions.h"
#include "http/host.h"

namespace h5mount::serve {
namespace {

std::vector<std::string> items(std::string_view list) {
  std::vector<std::string> out;
  for_each_item(list, [&](std::string_view item) { out.emplace_back(item); });
  return out;
}

TEST(HttpFields, ListsAreSplitAtCommasOutsideOfQuotes) {
  EXPECT_EQ(items(" a, ,b\t,\"c,d\" ,"), (std::vector<std::string>{"a", "b", "\"c,d\""}));
  EXPECT_EQ(items(""), std::vector<std::string>{});
  EXPECT_EQ(items("\"open, never closed"), std::vector<std::string>{"\"open, never closed"});
}

TEST(HttpFields, DatesOfAllThreeForms) {
  constexpr std::time_t kTime = 784111777;
  EXPECT_EQ(format_date(kTime), "Sun, 06 Nov 1994 08:49:37 GMT");
  for (const char* text :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"})
    EXPECT_EQ(parse_date(text), kTime) << text;
  for (const std::time_t time : {std::time_t{0}, std::time_t{951782400}, std::time_t{4107542399}})
    EXPECT_EQ(parse_date(format_date(time)), time);
}

TEST(HttpFields, WhatIsNoDate) {
  for (const char* text :
       {"", "x", "Sun, ", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 GMT ?",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Xxx 1994 08:49:37 GMT",
        "784111777", "Sun Nov 6 08:49:37 1994x", "Xun Nov  6 08:49:37 1994"})
    EXPECT_EQ(parse_date(text), std::nullopt) << text;
}

TEST(HttpFields, TheMostSpecificRangeOfAcceptDecides) {
  EXPECT_EQ(accept_weight(std::nullopt, "text/html"), 1000U);
  EXPECT_EQ(accept_weight("text/html", "text/html"), 1000U);
  EXPECT_EQ(accept_weight("*/*;q=0.1, text/*;q=0.5, TEXT/html;level=1;q=0.25", "text/html"), 250U);
  EXPECT_EQ(accept_weight("text/*;q=0.5, */*", "text/html"), 500U);
  EXPECT_EQ(accept_weight("text/html;q=0", "text/html"), 0U);
  EXPECT_EQ(accept_weight("application/json", "text/html"), 0U);
  EXPECT_TRUE(names_type("text/html,application/xhtml+xml,*/*;q=0.8", "text/html"));
  EXPECT_FALSE(names_type("*/*", "text/html"));
  EXPECT_FALSE(names_type(std::nullopt, "text/html"));
  for (const char* text : {";", "a;q=", ";;;", "text/html;q=x", ",;q=0.3,"})
    (void)accept_weight(text, "text/html");
}

TEST(HttpFields, Gzip) {
  for (const char* text : {"gzip", "br, gzip;q=0.5", "x-gzip", "*", "deflate, GZIP"})
    EXPECT_TRUE(accepts_gzip(text)) << text;
  for (const char* text : {"", "br", "gzip;q=0", "*;q=0", "gzip;q=0, *", "identity"})
    EXPECT_FALSE(accepts_gzip(text)) << text;
  EXPECT_FALSE(accepts_gzip(std::nullopt));
}

TEST(Host, LoopbackNamesOnly) {
  for (const char* host : {"localhost", "LocalHost:8000", "localhost.", "a.localhost:1", "127.0.0.1",
                           "127.0.0.1:8000", "127.255.1.2", "[::1]", "[::1]:80"})
    EXPECT_TRUE(is_loopback_host(host)) << host;
  for (const char* host : {"",
                           "example.org",
                           "localhost.example.org",
                           "notlocalhost",
                           ".localhost",
                           "127.0.0.1.example.org",
                           "127.1",
                           "127.0.0.1.",
                           "127.0.0.256",
                           "127.00.0.1",
                           "128.0.0.1",
                           "0.0.0.0",
                           "2130706433",
                           "0x7f.0.0.1",
                           "[::2]",
                           "[::1",
                           "[::1]x",
                           "::1",
                           "localhost:http",
                           "localhost:123456",
                           "127.0.0.1:80:80",
                           "localhost, localhost"})
    EXPECT_FALSE(is_loopback_host(host)) << host;
}

constexpr std::time_t kNow = 1'000'000;

Verdict verdict(const Conditions& conditions, std::time_t modified = kNow - 100, bool weak = false) {
  return evaluate(conditions, {"\"tag\"", modified, weak}, kNow);
}

TEST(Conditions, TagsAreComparedAsTheFieldAsks) {
  EXPECT_EQ(verdict({}), Verdict::Proceed);
  for (const char* list : {"\"tag\"", "W/\"tag\"", "*", "\"a\", \"tag\""})
    EXPECT_EQ(verdict({.if_none_match = list}), Verdict::NotModified) << list;
  for (const char* list : {"\"other\"", "tag", ""})
    EXPECT_EQ(verdict({.if_none_match = list}), Verdict::Proceed) << list;
  for (const char* list : {"\"tag\"", "*", "\"a\",\"tag\""})
    EXPECT_EQ(verdict({.if_match = list}), Verdict::Proceed);
  for (const char* list : {"W/\"tag\"", "\"other\""})
    EXPECT_EQ(verdict({.if_match = list}), Verdict::PreconditionFailed);
  EXPECT_EQ(verdict({.if_match = "\"tag\""}, kNow - 100, true), Verdict::PreconditionFailed);
}

TEST(Conditions, DatesCountWhereThereIsNoTag) {
  const std::string at = format_date(kNow - 100), before = format_date(kNow - 101);
  EXPECT_EQ(verdict({.if_modified_since = at}), Verdict::NotModified);
  EXPECT_EQ(verdict({.if_modified_since = before}), Verdict::Proceed);
  EXPECT_EQ(verdict({.if_none_match = "\"other\"", .if_modified_since = at}), Verdict::Proceed);
  EXPECT_EQ(verdict({.if_unmodified_since = before}), Verdict::PreconditionFailed);
  EXPECT_EQ(verdict({.if_unmodified_since = at}), Verdict::Proceed);
  // A second write within the same second would have the same date.
  EXPECT_EQ(verdict({.if_modified_since = format_date(kNow)}, kNow), Verdict::Proceed);
}

TEST(Conditions, ARangeNeedsExactlyThisState) {
  const Validators validators{"\"tag\"", kNow - 100, false};
  EXPECT_TRUE(range_applies(std::nullopt, validators, kNow));
  EXPECT_TRUE(range_applies("\"tag\"", validators, kNow));
  EXPECT_TRUE(range_applies(format_date(kNow - 100), validators, kNow));
  for (const std::string& value : {std::string("W/\"tag\""), std::string("\"other\""), std::string("tag"),
                                   format_date(kNow - 99), format_date(kNow - 101)})
    EXPECT_FALSE(range_applies(value, validators, kNow)) << value;
  EXPECT_FALSE(range_applies(format_date(kNow), {"", kNow, false}, kNow));
  EXPECT_FALSE(range_applies("\"\"", {"", std::nullopt, false}, kNow));
}

}  // namespace
}  // namespace h5mount::serve

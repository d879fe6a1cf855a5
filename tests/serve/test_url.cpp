#include "http/url.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>

#include "h5mount/base/uri.h"
#include "site/assets.h"

namespace h5mount::serve {
namespace {

TEST(Url, TargetsOfBothForms) {
  const auto plain = parse_target("/a/b?list&x=1");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->path, "/a/b");
  EXPECT_EQ(plain->query, "list&x=1");
  EXPECT_EQ(plain->authority, "");
  const auto absolute = parse_target("HTTP://localhost:80/a?b");
  ASSERT_TRUE(absolute);
  EXPECT_EQ(absolute->authority, "localhost:80");
  EXPECT_EQ(absolute->path, "/a");
  EXPECT_EQ(absolute->query, "b");
  EXPECT_EQ(parse_target("http://h")->path, "/");
  EXPECT_EQ(parse_target("http://h?q")->query, "q");
  for (const char* text : {"", "a", "?", "*", "https://h/a", "http://", "http:///a", "\\a", "#/"})
    EXPECT_FALSE(parse_target(text)) << text;
}

TEST(Url, EveryByteOfANameComesBack) {
  for (int byte = 1; byte < 256; ++byte) {
    if (byte == '/') continue;
    const std::string name(3, static_cast<char>(byte));
    const std::string encoded = encode_component(name);
    for (const char c : encoded)
      EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(c)) || std::strchr("-._~%", c)) << c;
    EXPECT_EQ(decode_path("/" + encoded), "/" + name);
  }
  EXPECT_EQ(encode_path("a b/%/é"), "a%20b/%25/%C3%A9");
}

TEST(Url, WhatIsNoPath) {
  for (const char* path :
       {"/%", "/%4", "/%zz", "/%2", "/a%2Fb", "/a%2fb", "/%00", "/a b", "/a\tb", "/a\x7f", "/%%41"})
    EXPECT_FALSE(decode_path(path)) << path;
  EXPECT_EQ(decode_path("/%2e%2e/%41"), "/../A");
  EXPECT_EQ(decode_path("/caf\xc3\xa9"), "/caf\xc3\xa9");
}

TEST(Url, DotSegmentsStayBelowTheRoot) {
  const std::pair<const char*, const char*> cases[] = {{"/", "/"},
                                                       {"/a", "/a"},
                                                       {"/a/", "/a/"},
                                                       {"/..", "/"},
                                                       {"/../../etc/passwd", "/etc/passwd"},
                                                       {"/a/../b", "/b"},
                                                       {"/a/b/..", "/a/"},
                                                       {"/a/./b/.", "/a/b/"},
                                                       {"/a/...", "/a/..."},
                                                       {"//a", "//a"},
                                                       {"/a/b/../../..", "/"},
                                                       {"/.", "/"}};
  for (const auto& [path, want] : cases) EXPECT_EQ(without_dot_segments(path), want) << path;
}

// Nothing of the page comes from elsewhere. What npm's packages make of it is compressed, and there only
// where the build has them; the browser's test sees that it asks no other server.
TEST(Assets, AreEmbeddedAndNameNoOtherServer) {
  std::set<std::string_view> names;
  for (const Asset& asset : page_assets()) {
    names.insert(asset.name);
    EXPECT_GT(asset.content.size(), 200U) << asset.name;
    if (asset.name.ends_with(".gz")) {
      EXPECT_TRUE(asset.content.starts_with("\x1f\x8b")) << asset.name;
      continue;
    }
    for (const char* word : {"http:", "https:", "innerHTML", "eval("})
      EXPECT_EQ(asset.content.find(word), std::string_view::npos) << asset.name << ": " << word;
  }
  const std::set<std::string_view> without{"page.html"},
      with{"page.html", "page.js.gz", "page.css.gz", "licenses.txt.gz"};
  EXPECT_TRUE(names == without || names == with);
}

TEST(Url, Queries) {
  EXPECT_EQ(Query("list").get("list"), "");
  EXPECT_EQ(Query("a=1&list=2&list=3").get("list"), "2");
  EXPECT_EQ(Query("a=1&list=2&list=3").all("list"), (std::vector<std::string>{"2", "3"}));
  EXPECT_EQ(Query("lists").get("list"), std::nullopt);
  EXPECT_EQ(Query("&&=&x==").get("x"), "=");
  EXPECT_EQ(Query("").get("x"), std::nullopt);
  EXPECT_EQ(Query("li%73t=a+b%2B%2Fc%zz%").get("list"), "a b+/c%zz%");
  EXPECT_TRUE(Query("flatten").is_true("flatten"));
  EXPECT_FALSE(Query("flatten=False").is_true("flatten"));
  EXPECT_EQ(without_parameter("a&%74oken=x&b=2&token", "token"), "a&b=2");
}

TEST(Url, NamesAreNeverMarkup) {
  EXPECT_EQ(escape_html("<a href=\"x\">'&"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
  const std::string shown = escape_html("\x01\xff\x1b[31m");
  for (const char c : shown) EXPECT_TRUE(c >= ' ' && c < '\x7f') << shown;
}

// Every text of a few characters that matter to the parsers ends, and what is decoded holds no `/` that was
// encoded.
TEST(Url, EveryShortTextIsSafe) {
  constexpr std::string_view kAlphabet = "/%2fF.?&=0";
  std::string text;
  std::size_t decoded = 0;
  const auto extend = [&](auto& self, std::size_t left) -> void {
    if (const auto target = parse_target(text)) {
      (void)target->parameters.get("f");
      if (const auto path = decode_path(target->path)) {
        ++decoded;
        ASSERT_EQ(target->place, without_dot_segments(*path)) << text;
        ASSERT_TRUE(target->place->starts_with('/')) << text;
        ASSERT_EQ(std::ranges::count(*path, '/'), std::ranges::count(target->path, '/')) << text;
      }
    }
    if (left == 0) return;
    for (const char c : kAlphabet) {
      text += c;
      self(self, left - 1);
      text.pop_back();
    }
  };
  extend(extend, 6);
  EXPECT_GT(decoded, 10'000U);
}

}  // namespace
}  // namespace h5mount::serve

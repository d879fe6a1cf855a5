// The log: lines kept in memory, causes logged once, escaping of names, the rate limit. UTF-8, on which
// escaping depends.
#include <gtest/gtest.h>

#include "h5mount/base/log.h"
#include "h5mount/base/utf8.h"

namespace h5mount {
namespace {

std::string kept_since(std::uint64_t begin) {
  return read_kept_log(begin, 1U << 30).value_or("(gone)");
}

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(Utf8, WellFormedSequencesOfEveryLength) {
  EXPECT_EQ(utf8_length(""), 0U);
  EXPECT_EQ(utf8_length(std::string_view("\0x", 2)), 1U);
  EXPECT_EQ(utf8_length("a"), 1U);
  EXPECT_EQ(utf8_length("ö…"), 2U);
  EXPECT_EQ(utf8_length("温"), 3U);
  EXPECT_EQ(utf8_length("🙂"), 4U);
  EXPECT_EQ(utf8_length("\xf4\x8f\xbf\xbf"), 4U);  // U+10FFFF
  EXPECT_EQ(utf8_length("\xed\x9f\xbf"), 3U);      // U+D7FF, the last before the surrogates
  EXPECT_EQ(utf8_length("\xee\x80\x80"), 3U);      // U+E000, the first after them
}

TEST(Utf8, OverlongFormsSurrogatesAndCodesAboveTheMaximumAreRejected) {
  for (const char* bytes : {"\x80", "\xff", "\xc3", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xe0\x9f\xbf",
                            "\xe2\x82", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf0\x9f\x99",
                            "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"})
    EXPECT_EQ(utf8_length(bytes), 0U) << bytes;
}

TEST(Utf8, APrefixCutsNoSequence) {
  EXPECT_EQ(utf8_prefix("abc", 3), "abc");
  EXPECT_EQ(utf8_prefix("abcd", 3), "abc");
  EXPECT_EQ(utf8_prefix("aö", 2), "a");
  EXPECT_EQ(utf8_prefix("a🙂b", 4), "a");
  EXPECT_EQ(utf8_prefix("a🙂b", 5), "a🙂");
  EXPECT_EQ(utf8_prefix("\xff\xff\xff", 2), "\xff\xff");
  EXPECT_EQ(utf8_prefix("ö", 0), "");
}

// A name from a file must not reach a terminal as an escape sequence.
TEST(Log, ControlBytesAndWhatIsNotUtf8AreEscaped) {
  EXPECT_EQ(escape_for_log("plain, Größe, 温度, 🙂"), "plain, Größe, 温度, 🙂");
  EXPECT_EQ(escape_for_log("a\x1b[31mb\r\n"), "a\\x1b[31mb\\x0d\\x0a");
  EXPECT_EQ(escape_for_log(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(escape_for_log("\xc2\x9b"
                           "31m"),
            "\\xc2\\x9b31m");  // a C1 control
  EXPECT_EQ(escape_for_log("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(escape_for_log("\xc0\xaf"), "\\xc0\\xaf");           // an overlong slash
  EXPECT_EQ(escape_for_log("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");  // an overlong slash of three bytes
  EXPECT_EQ(escape_for_log("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a surrogate pair
}

TEST(Log, KeepsLinesWithTimeAndLevel) {
  const std::uint64_t begin = kept_log().end;
  EXPECT_TRUE(log_line(LogLevel::Warning, "one \x1b of them"));
  const std::string text = kept_since(begin);
  EXPECT_EQ(text.substr(20), " warning: one \\x1b of them\n") << text;
  EXPECT_EQ(text.substr(10, 1), "T");
  EXPECT_EQ(text.substr(19, 1), "Z");
  EXPECT_EQ(kept_log().end, begin + text.size());
  EXPECT_EQ(read_kept_log(begin + 20, 9), " warning:");
  EXPECT_EQ(read_kept_log(kept_log().end, 9), "");
}

TEST(Log, WarningsAreKeptWhateverIsEmitted) {
  set_log_level(LogLevel::Error);
  const std::uint64_t begin = kept_log().end;
  log_line(LogLevel::Warning, "kept");
  log_line(LogLevel::Info, "not wanted");
  set_log_level(LogLevel::Warning);
  EXPECT_EQ(count(kept_since(begin), "kept"), 1);
  EXPECT_EQ(count(kept_since(begin), "not wanted"), 0);
}

TEST(Log, OneCauseIsLoggedOnceUntilTheStateIsAnother) {
  const std::uint64_t begin = kept_log().end;
  EXPECT_TRUE(log_once(LogLevel::Error, "f.h5: /d: bad", 1));
  EXPECT_FALSE(log_once(LogLevel::Error, "f.h5: /d: bad", 1));
  EXPECT_TRUE(log_once(LogLevel::Error, "f.h5: /e: bad", 1));
  EXPECT_TRUE(log_once(LogLevel::Error, "f.h5: /d: bad", 2));
  EXPECT_TRUE(log_once(LogLevel::Error, "f.h5: /d: node 7 is bad; in chunk 1", 1, "/d: node 7"));
  EXPECT_FALSE(log_once(LogLevel::Error, "f.h5: /d: node 7 is bad; in chunk 2", 1, "/d: node 7"));
  EXPECT_TRUE(log_once(LogLevel::Error, "f.h5: /d: node 8 is bad; in chunk 2", 1, "/d: node 8"));
  EXPECT_EQ(count(kept_since(begin), "/d: bad"), 2);
  EXPECT_FALSE(log_once(LogLevel::Info, "nobody wants it"));
}

TEST(Log, ALongLineIsCutAtACharacter) {
  const std::uint64_t begin = kept_log().end;
  std::string text = "x";
  while (text.size() < 10'000) text += "ö";
  log_line(LogLevel::Error, text);
  const std::string kept = kept_since(begin);
  EXPECT_LT(kept.size(), 4200U);
  EXPECT_TRUE(kept.ends_with("ö…\n"));
}

// Must run last in this program: the rate limit drops lines of any later test for a minute.
TEST(LogFlood, AThousandLinesAreKeptAndTheRateIsLimited) {
  set_log_level(LogLevel::Debug);  // debug lines are not limited
  const std::uint64_t first = kept_log().end;
  testing::internal::CaptureStderr();
  for (int i = 0; i < 1200; ++i) log_line(LogLevel::Debug, "line " + std::to_string(i));
  set_log_level(LogLevel::Warning);
  const KeptLog kept = kept_log();
  EXPECT_EQ(count(kept_since(kept.begin), "\n"), 1000);
  EXPECT_EQ(kept_since(kept.begin).find("debug: line 200\n"), 21U);
  EXPECT_EQ(read_kept_log(first, 10), std::nullopt);
  int admitted = 0;
  for (int i = 0; i < 1000; ++i) admitted += log_line(LogLevel::Error, "flood") ? 1 : 0;
  EXPECT_GT(admitted, 200);
  EXPECT_LT(admitted, 400);
  EXPECT_FALSE(log_once(LogLevel::Error, "during the flood"));
  testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace h5mount

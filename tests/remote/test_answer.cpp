// What answers mean, by their status and fields.
#include <gtest/gtest.h>

#include "transport/answer.h"

namespace h5mount::remote {
namespace {

const Version kKnown{1000, "\"tag\"", "Mon, 01 Jan 2024 00:00:00 GMT"};

Fields fields(std::string range, std::string tag = "\"tag\"",
              std::string modified = "Mon, 01 Jan 2024 00:00:00 GMT") {
  Fields out;
  if (!range.empty()) out.emplace_back("content-range", range);
  if (!tag.empty()) out.emplace_back("etag", tag);
  if (!modified.empty()) out.emplace_back("last-modified", modified);
  return out;
}

Verdict verdict(long status, Fields of, bool by_size = false, std::optional<Version> known = kKnown,
                std::uint64_t begin = 100, std::uint64_t end = 200) {
  HttpAnswer answer;
  answer.fields = std::move(of);
  return judge({begin, end, std::move(known), by_size}, status, answer).verdict;
}

TEST(RemoteAnswer, MustHaveTheRangeThatWasAskedFor) {
  EXPECT_EQ(verdict(206, fields("bytes 100-199/1000")), Verdict::Bytes);
  for (const char* range :
       {"", "bytes 100-198/1000", "bytes 99-199/1000", "bytes 101-200/1000", "bytes 100-199/*",
        "bytes 199-100/1000", "bytes 100-199", "items 100-199/1000", "bytes 100-199/1000 "})
    EXPECT_EQ(verdict(206, fields(range)), Verdict::Again) << range;
  EXPECT_EQ(verdict(200, fields("")), Verdict::Again);
  EXPECT_EQ(verdict(204, fields("bytes 100-199/1000")), Verdict::Again);
  auto encoded = fields("bytes 100-199/1000");
  encoded.emplace_back("content-encoding", "gzip");
  EXPECT_EQ(verdict(206, encoded), Verdict::Again);
}

TEST(RemoteAnswer, MustBeOfTheVersionThatWasOpened) {
  EXPECT_EQ(verdict(206, fields("bytes 100-199/1001")), Verdict::Changed);
  EXPECT_EQ(verdict(206, fields("bytes 100-199/1000", "\"other\"")), Verdict::Changed);
  EXPECT_EQ(verdict(206, fields("bytes 100-199/1000", "W/\"tag\"")), Verdict::Changed);
  EXPECT_EQ(verdict(206, fields("bytes 100-199/1000", "\"tag\"", "Tue, 02 Jan 2024 00:00:00 GMT")),
            Verdict::Changed);
  EXPECT_EQ(verdict(206, fields("bytes 100-199/1000", "")), Verdict::Again);
  EXPECT_EQ(verdict(206, fields("bytes 100-199/1000", "\"tag\"", "")), Verdict::Again);
  EXPECT_EQ(verdict(206, fields("bytes 100-199/1000", "\"mirror\""), true), Verdict::Bytes);
  EXPECT_EQ(verdict(206, fields("bytes 100-199/999", "\"tag\""), true), Verdict::Changed);
  EXPECT_EQ(verdict(416, fields("bytes */50")), Verdict::Changed);
  EXPECT_EQ(verdict(416, fields("bytes */1000")), Verdict::Again);
}

TEST(RemoteAnswer, TheFirstOneTellsLengthAndVersion) {
  HttpAnswer answer;
  answer.fields = fields("bytes 0-999/1000");
  const Judged judged = judge({0, 1U << 20, std::nullopt, false}, 206, answer);
  EXPECT_EQ(judged.verdict, Verdict::Bytes);
  EXPECT_EQ(judged.version.length, 1000U);
  EXPECT_EQ(judged.version.entity_tag, "\"tag\"");
  Fields small = fields("");
  small.emplace_back("content-length", "1000");
  EXPECT_EQ(verdict(200, small, false, std::nullopt, 0, 1U << 20), Verdict::Bytes);
  EXPECT_EQ(verdict(200, small, false, std::nullopt, 0, 999), Verdict::NoRanges);
  EXPECT_EQ(verdict(200, fields(""), false, std::nullopt, 0, 999), Verdict::NoRanges);
  EXPECT_EQ(verdict(416, fields("bytes */0"), false, std::nullopt, 0, 999), Verdict::Empty);
  EXPECT_EQ(verdict(416, fields("bytes */5"), false, std::nullopt, 0, 999), Verdict::Again);
  EXPECT_EQ(verdict(416, fields(""), false, std::nullopt, 0, 999), Verdict::Empty);
  EXPECT_EQ(verdict(416, fields("nonsense"), false, std::nullopt, 0, 999), Verdict::Again);
  EXPECT_EQ(verdict(416, fields("")), Verdict::Again);
  Fields empty = fields("");
  empty.emplace_back("content-length", "0");
  EXPECT_EQ(verdict(200, empty, false, std::nullopt, 0, 999), Verdict::Bytes);
}

TEST(RemoteAnswer, NamesOfUnitsAndCodingsAreComparedWithoutCase) {
  for (const char* unit : {"bytes", "Bytes", "BYTES", "bYtEs"}) {
    EXPECT_EQ(verdict(206, fields(std::string(unit) + " 100-199/1000")), Verdict::Bytes) << unit;
    EXPECT_EQ(verdict(416, fields(std::string(unit) + " */50")), Verdict::Changed) << unit;
    EXPECT_EQ(verdict(416, fields(std::string(unit) + " */0"), false, std::nullopt, 0, 9), Verdict::Empty);
  }
  EXPECT_EQ(verdict(206, fields("byte 100-199/1000")), Verdict::Again);
  auto identity = fields("bytes 100-199/1000");
  identity.emplace_back("content-encoding", "Identity");
  EXPECT_EQ(verdict(206, identity), Verdict::Bytes);
}

// A file is smaller than 2^63 bytes, so whoever claims more lies, and sums of offsets would overflow.
TEST(RemoteAnswer, ClaimsNoMoreThanAFileCanHave) {
  const auto first = [](const std::string& length) {
    return verdict(206, fields("bytes 0-99/" + length), false, std::nullopt, 0, 100);
  };
  EXPECT_EQ(first("9223372036854775807"), Verdict::Bytes);
  EXPECT_EQ(first("9223372036854775808"), Verdict::Refused);
  EXPECT_EQ(first("18446744073709551614"), Verdict::Refused);
  EXPECT_EQ(first("18446744073709551615"), Verdict::Refused);
  EXPECT_EQ(first("18446744073709551616"), Verdict::Again);
  EXPECT_EQ(first("-1"), Verdict::Again);
}

TEST(RemoteAnswer, TellsWhetherAskingAgainMayHelp) {
  for (const long status : {408L, 429L, 500L, 502L, 503L, 504L})
    EXPECT_EQ(verdict(status, {}), Verdict::Again) << status;
  EXPECT_EQ(verdict(401, {}), Verdict::Denied);
  EXPECT_EQ(verdict(403, {}), Verdict::Denied);
  EXPECT_EQ(verdict(404, {}), Verdict::Gone);
  EXPECT_EQ(verdict(410, {}), Verdict::Gone);
  EXPECT_EQ(verdict(400, {}), Verdict::Refused);
  EXPECT_EQ(verdict(302, {{"location", "/x"}}), Verdict::Redirect);
  EXPECT_EQ(verdict(302, {}), Verdict::Again);
}

}  // namespace
}  // namespace h5mount::remote

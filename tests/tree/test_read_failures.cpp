// Records of failed reads, and the text of a dataset's sources.
#include <gtest/gtest.h>

#include "../../src/tree/core/read_failures.h"
#include "../../src/tree/objects/sources_text.h"

namespace h5mount::tree {
namespace {

const Error kFirst(ErrorCode::ChecksumMismatch, "first");
const Error kSecond(ErrorCode::FilterFailed, "second");

TEST(ReadFailures, TheFirstIsRememberedAndTheOthersAreCounted) {
  ReadFailures failures;
  EXPECT_FALSE(failures.any());
  EXPECT_FALSE(failures.find(8, 1));
  failures.note(8, 1, 100, kFirst);
  EXPECT_TRUE(failures.any());
  EXPECT_EQ(failures.find(8, 1)->text(), "first");
  failures.note(8, 1, 200, kSecond);
  EXPECT_EQ(failures.find(8, 1)->text(), "first; in the first of 2 failed reads");
  EXPECT_FALSE(failures.find(9, 1));
}

TEST(ReadFailures, AnotherStateOfTheFileKnowsNothingOfThem) {
  ReadFailures failures;
  failures.note(8, 1, 100, kFirst);
  EXPECT_FALSE(failures.find(8, 2));
  failures.note(8, 2, 100, kSecond);
  EXPECT_EQ(failures.find(8, 2)->text(), "second");
}

TEST(ReadFailures, AReadOfTheSameBytesThatGoesWellEndsIt) {
  ReadFailures failures;
  failures.note(8, 1, 100, kFirst);
  failures.note_success(8, 0, 100);
  failures.note_success(8, 101, 200);
  failures.note_success(9, 0, 200);
  EXPECT_TRUE(failures.find(8, 1));
  failures.note_success(8, 0, 101);
  EXPECT_FALSE(failures.find(8, 1));
  EXPECT_FALSE(failures.any());
}

TEST(ReadFailures, ThereIsABound) {
  ReadFailures failures;
  for (std::uint64_t i = 0; i <= ReadFailures::kMaxDatasets; ++i) failures.note(i, 1, 0, kFirst);
  EXPECT_TRUE(failures.find(ReadFailures::kMaxDatasets - 1, 1));
  EXPECT_FALSE(failures.find(ReadFailures::kMaxDatasets, 1));
}

TEST(ReadFailures, MissingSourcesAreCountedOnce) {
  ReadFailures failures;
  EXPECT_EQ(failures.note_missing(8, 1, 2), 2U);
  EXPECT_EQ(failures.note_missing(8, 1, 2), 0U);
  EXPECT_EQ(failures.note_missing(8, 1, 5), 3U);
  EXPECT_EQ(failures.note_missing(8, 2, 5), 5U);  // another state of the file
  EXPECT_FALSE(failures.any());
}

TEST(SourcesText, AnElementEachAndWhatHasNoRoomIsCounted) {
  dataset::NamedSources sources;
  EXPECT_EQ(sources_text(sources, 1000), "[]");
  sources.list.push_back({.file = "a\".h5", .dataset = "/x"});
  sources.list.push_back(dataset::NamedFile::of("b.h5", "/x", Error(ErrorCode::NotFound, "no such file")));
  sources.list.push_back(dataset::NamedFile::of("raw", "", Error(ErrorCode::AccessDenied, "not allowed")));
  sources.list.push_back({.file = "p-%b.h5", .dataset = "/x", .numbered = 12});
  EXPECT_EQ(sources_text(sources, 1000),
            R"([{"file":"a\".h5","dataset":"/x","state":"found"},)"
            R"({"file":"b.h5","dataset":"/x","state":"missing","reason":"no such file"},)"
            R"({"file":"raw","state":"refused","reason":"not allowed"},)"
            R"({"file":"p-%b.h5","dataset":"/x","state":"found","numbered":12}])");
  EXPECT_EQ(sources_text(sources, 120),
            R"([{"file":"a\".h5","dataset":"/x","state":"found"},{"left_out":3}])");
  sources.left_out = 7;
  EXPECT_EQ(sources_text(sources, 64), R"([{"left_out":11}])");
}

}  // namespace
}  // namespace h5mount::tree

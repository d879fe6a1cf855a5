// Retries of torn structures: how many, for how long, and what is logged.
#include "h5mount/metadata/torn_retry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "h5mount/base/log.h"
#include "small_file.h"
#include "support/written_source.h"

namespace h5mount::metadata {
namespace {

using namespace test;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::uint8_t kWriting = 1, kSwmr = 4;  // status flags

std::shared_ptr<FollowedFile> open_written(bool follows, bool lately) {
  const auto source = std::make_shared<WrittenSource>(written_file(follows ? kWriting | kSwmr : 0));
  auto file = *FollowedFile::open(
      source,
      {.follow = Follow::Auto, .revalidate_interval = milliseconds(0), .retry_for = milliseconds(60)});
  if (lately) source->touch();
  (void)file->revalidate_now();  // detects the change
  return file;
}

Error torn() {
  return Error(ErrorCode::ChecksumMismatch, "Structure", "checksum", 0);
}

// Reads until attempt number `good` succeeds; returns the number of attempts.
int attempts_until(FollowedFile& file, int good, RequestBudget& budget, const Error& error = torn()) {
  int attempts = 0;
  std::uint64_t last = 0;
  const Status done = retry_torn(file, "structure", budget, [&](const FileMetadataPtr& snapshot) -> Status {
    EXPECT_GT(snapshot->number(), last) << "each attempt has a later snapshot";
    last = snapshot->number();
    if (++attempts >= good) return {};
    return fail(error);
  });
  EXPECT_EQ(done.has_value(), attempts >= good);
  return attempts;
}
int attempts_until(FollowedFile& file, int good, const Error& error = torn()) {
  RequestBudget budget;
  return attempts_until(file, good, budget, error);
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

class TornRetries : public ::testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::Warning); }
  void TearDown() override { set_log_level(LogLevel::Info); }
  const std::shared_ptr<FollowedFile> written = open_written(true, true);
  FollowedFile& file = *written;
};

TEST_F(TornRetries, WhatBecomesWholeIsRead) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(attempts_until(file, 4), 4);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(TornRetries, WhatStaysTornIsGivenUpAndLoggedOnce) {
  ::testing::internal::CaptureStderr();
  const auto began = Clock::now();
  const int attempts = attempts_until(file, 1'000'000);
  const auto took = Clock::now() - began;
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_GE(took, milliseconds(60));
  EXPECT_LT(took, milliseconds(1000));
  EXPECT_GE(attempts, 3);
  EXPECT_LE(attempts, 12);
  EXPECT_EQ(lines_of(said), 1U) << said;
  EXPECT_NE(said.find("structure"), std::string::npos) << said;
}

// Nested attempts: the outer one has one bound and one log line.
TEST_F(TornRetries, AttemptsWithinAttemptsShareTheBound) {
  ::testing::internal::CaptureStderr();
  const auto began = Clock::now();
  int attempts = 0;
  RequestBudget budget;
  const auto innermost = [&](const FileMetadataPtr&) -> Status { return ++attempts, fail(torn()); };
  const auto inner = [&](const FileMetadataPtr&) { return retry_torn(file, "part", budget, innermost); };
  const auto half = [&](const FileMetadataPtr&) { return retry_torn(file, "half", budget, inner); };
  EXPECT_FALSE(retry_torn(file, "whole", budget, half));
  const auto took = Clock::now() - began;
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_LT(took, milliseconds(1000));
  EXPECT_LE(attempts, 16);
  EXPECT_EQ(lines_of(said), 1U) << said;
}

// A listing of many damaged structures waits no longer than a read of one.
TEST_F(TornRetries, ARequestHasOneBudget) {
  ::testing::internal::CaptureStderr();
  const auto slept = [&] { return file.retries().milliseconds.load(); };
  const std::uint64_t before = slept();
  {
    RequestBudget request;
    for (int i = 0; i < 400; ++i) (void)attempts_until(file, 1'000'000, request);
  }
  const std::uint64_t in_one = slept() - before;
  EXPECT_GE(in_one, 60U);
  EXPECT_LE(in_one, 60U + 64U);
  EXPECT_EQ(lines_of(::testing::internal::GetCapturedStderr()), 1U);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) (void)attempts_until(file, 1'000'000);
  EXPECT_GE(slept() - before - in_one, 120U) << "the next request has its own";
  (void)::testing::internal::GetCapturedStderr();
}

TEST_F(TornRetries, OtherFailuresStandAtOnce) {
  for (const ErrorCode code :
       {ErrorCode::Io, ErrorCode::NotFound, ErrorCode::UnsupportedFeature, ErrorCode::Stale})
    EXPECT_EQ(attempts_until(file, 3, Error(code, "no")), 1);
}

TEST_F(TornRetries, AFileThatIsNotWrittenIsDamagedNotTorn) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(attempts_until(*open_written(true, false), 9), 2) << "once more: the snapshot may have been old";
  EXPECT_EQ(attempts_until(*open_written(false, false), 9), 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace h5mount::metadata

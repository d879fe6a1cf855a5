// Reading torn structures again: how often, for how long, and what is said of it.
#include "h5mount/metadata/torn_retry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "h5mount/base/log.h"
#include "memory_file.h"

namespace h5mount::metadata {
namespace {

using namespace test;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

class WrittenFile final : public MemoryFile {
 public:
  WrittenFile() : MemoryFile(std::vector<std::byte>{}, {}) {}
  bool following() const override { return follows; }
  bool changed_lately() const override { return lately; }
  milliseconds retry_for() const override { return milliseconds(60); }
  void look_again() const override { ++looks; }

  bool follows = true, lately = true;
  mutable int looks = 0;
};

Error torn() {
  return Error(ErrorCode::ChecksumMismatch, "Structure", "checksum", 0);
}

// Tries until the attempt with number `good`; how many there were.
int attempts_until(const WrittenFile& file, int good, const Error& error = torn()) {
  int attempts = 0;
  const Status done = retry_torn(file, "structure", [&]() -> Status {
    if (++attempts >= good) return {};
    return fail(error);
  });
  EXPECT_EQ(done.has_value(), attempts >= good);
  return attempts;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

class TornRetries : public ::testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::Warning); }
  void TearDown() override { set_log_level(LogLevel::Info); }
  WrittenFile file;
};

TEST_F(TornRetries, WhatBecomesWholeIsRead) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(attempts_until(file, 4), 4);
  EXPECT_EQ(file.looks, 3) << "each attempt reads the file anew";
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(TornRetries, WhatStaysTornIsGivenUpAndToldOnce) {
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

// An attempt is made of attempts: the whole has one bound and one line.
TEST_F(TornRetries, AttemptsWithinAttemptsShareTheBound) {
  ::testing::internal::CaptureStderr();
  const auto began = Clock::now();
  int attempts = 0;
  const auto innermost = [&]() -> Status { return ++attempts, fail(torn()); };
  const auto inner = [&] { return retry_torn(file, "part", innermost); };
  EXPECT_FALSE(retry_torn(file, "whole", [&] { return retry_torn(file, "half", inner); }));
  const auto took = Clock::now() - began;
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_LT(took, milliseconds(1000));
  EXPECT_LE(attempts, 16);
  EXPECT_EQ(lines_of(said), 1U) << said;
  // The bound was that one's: what is read later has its own.
  EXPECT_EQ(attempts_until(file, 3), 3);
}

// A listing of many damaged structures waits no longer than one of them would.
TEST_F(TornRetries, ARequestHasOneBudget) {
  ::testing::internal::CaptureStderr();
  const auto slept = [] { return retry_counters().milliseconds.load(); };
  const std::uint64_t before = slept();
  {
    const RetryBudget request;
    for (int i = 0; i < 400; ++i) (void)attempts_until(file, 1'000'000);
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
  EXPECT_EQ(file.looks, 0);
}

TEST_F(TornRetries, WhatNobodyWritesIsDamagedNotTorn) {
  ::testing::internal::CaptureStderr();
  file.lately = false;
  EXPECT_EQ(attempts_until(file, 9), 2) << "once more, as what was kept may have been old";
  file.follows = false;
  EXPECT_EQ(attempts_until(file, 9), 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace h5mount::metadata

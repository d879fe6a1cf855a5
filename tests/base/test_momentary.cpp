// What failed for a moment is kept by nobody, and a failed allocation ends no thread.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <new>
#include <thread>

#include "h5mount/base/advice.h"
#include "h5mount/base/once_value.h"
#include "h5mount/base/thread.h"

namespace h5mount {
namespace {

TEST(Momentary, TellsTheMomentFromTheBytes) {
  using enum ErrorCode;
  for (const ErrorCode code : {Io, Interrupted, TimedOut, OutOfMemory, Internal})
    EXPECT_TRUE(is_momentary(Error(code, ""))) << error_code_name(code);
  for (const ErrorCode code : {Truncated, BadSignature, UnsupportedVersion, UnsupportedFeature,
                               ChecksumMismatch, InvalidValue, OutOfRange, LimitExceeded, Cycle, FilterFailed,
                               NotFound, AccessDenied, TooLarge, Stale, BudgetExceeded})
    EXPECT_FALSE(is_momentary(Error(code, ""))) << error_code_name(code);
  for (const int why : {EIO, EMFILE, ENOMEM, ETIMEDOUT}) EXPECT_TRUE(is_momentary(io_error(why, "reading")));
  EXPECT_EQ(no_memory().errno_value(), ENOMEM);
}

// Salvage goes on past what a disk does not give, and tells of it as of other damage.
TEST(Momentary, WhatADiskDoesNotGiveIsDamageWhereSalvageGoesOn) {
  set_salvage_mode(SalvageMode::Errors);
  EXPECT_FALSE(is_momentary(io_error(EIO, "reading")));
  EXPECT_TRUE(is_momentary(io_error(EMFILE, "opening")));
  EXPECT_TRUE(is_momentary(Error(ErrorCode::Io, "no answer")));
  set_salvage_mode(SalvageMode::Off);
  EXPECT_TRUE(is_momentary(io_error(EIO, "reading")));
}

TEST(Momentary, AWatchSeesWhatWasPutUpWithAndTellsTheOneAroundIt) {
  MomentaryWatch outer;
  {
    const MomentaryWatch inner;
    note_momentary(Error(ErrorCode::ChecksumMismatch, "damage"));
    EXPECT_FALSE(inner.met());
    EXPECT_TRUE(noted(Result<int>(1)));
    EXPECT_FALSE(noted(Result<int>(fail(Error(ErrorCode::TimedOut, "no answer")))));
    ASSERT_TRUE(inner.met());
    EXPECT_EQ(inner.unless_met(Result<int>(2)).error().code(), ErrorCode::TimedOut);
    const Result<int> missing = fail(Error(ErrorCode::NotFound, "no such name"));
    EXPECT_EQ(inner.unless_met(missing).error().code(), ErrorCode::TimedOut);
  }
  EXPECT_TRUE(outer.met());
  outer.forget();
  EXPECT_EQ(outer.unless_met(Result<int>(2)), 2);
}

TEST(OnceValue, WhatWasMadeInSpiteOfAMomentaryErrorIsNotKept) {
  OnceValue<int> value;
  const auto part = [] {
    note_momentary(Error(ErrorCode::Io, "no answer"));
    return Result<int>(1);
  };
  EXPECT_FALSE(value.get(part, Unbounded()));
  EXPECT_FALSE(value.get_once(part, Unbounded()));
  EXPECT_FALSE(value.peek());
  EXPECT_EQ(value.get([] { return Result<int>(2); }, Unbounded()), 2);
}

TEST(OnceValue, AWaiterTriesItselfWhereTheFirstCallerThrew) {
  OnceValue<int> value;
  std::atomic<bool> begun = false, go_on = false;
  std::thread first([&] {
    EXPECT_THROW((void)value.get(
                     [&]() -> Result<int> {
                       begun = true;
                       while (!go_on) std::this_thread::yield();
                       throw std::bad_alloc();
                     },
                     Unbounded()),
                 std::bad_alloc);
  });
  while (!begun) std::this_thread::yield();
  std::thread second([&] { EXPECT_EQ(value.get([] { return Result<int>(7); }, Unbounded()), 7); });
  go_on = true;
  first.join();
  second.join();
}

// Asking a budget reads files of /proc: no other request may wait for that.
TEST(OnceValue, AsksTheBudgetWithoutALock) {
  OnceValue<int> value;
  std::atomic<bool> begun = false, asked = false;
  std::thread first([&] {
    (void)value.get(
        [&]() -> Result<int> {
          begun = true;
          while (!asked) std::this_thread::yield();
          return 7;
        },
        Unbounded());
  });
  while (!begun) std::this_thread::yield();
  struct Look {
    OnceValue<int>& value;
    std::atomic<bool>& asked;
  } look{value, asked};
  RequestBudget budget;
  budget.poll(
      [](void* data) {
        auto& at = *static_cast<Look*>(data);
        std::thread([&] { EXPECT_FALSE(at.value.peek()); }).join();  // takes the lock
        at.asked = true;
        return false;
      },
      &look);
  EXPECT_EQ(value.get([] { return Result<int>(8); }, budget), 7);
  first.join();
}

TEST(Thread, AnExceptionEndsTheThreadAndNotTheProgram) {
  std::atomic<bool> ran = false;
  std::thread thread = start_thread("h5-throws", [&] {
    ran = true;
    throw std::bad_alloc();
  });
  thread.join();
  EXPECT_TRUE(ran);
}

TEST(Thread, WhatOneOfManyThrowsIsThrownWhenAllHaveEnded) {
  std::atomic<int> ran = 0;
  const auto work = [&] {
    if (++ran == 2) throw std::bad_alloc();
  };
  EXPECT_THROW(run_together("h5-throws", 4, work), std::bad_alloc);
  EXPECT_EQ(ran, 4);
}

}  // namespace
}  // namespace h5mount

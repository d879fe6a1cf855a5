#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "h5mount/base/limits.h"
#include "h5mount/base/once_value.h"
#include "h5mount/base/request_budget.h"

namespace h5mount::test {
namespace {

using namespace std::chrono_literals;

ErrorCode code_of(const Status& status) {
  return status ? ErrorCode::Internal : status.error().code();
}

TEST(RequestBudget, AllowsItsStepsAndNoMore) {
  RequestBudget budget({.steps = 100, .time = 1h});
  EXPECT_TRUE(budget.spend(60));
  EXPECT_TRUE(budget.spend(40));
  EXPECT_TRUE(budget.check());
  const Status beyond = budget.spend(1);
  EXPECT_EQ(code_of(beyond), ErrorCode::BudgetExceeded);
  EXPECT_EQ(beyond.error().errno_value(), EFBIG);
  EXPECT_EQ(code_of(budget.check()), ErrorCode::BudgetExceeded) << "it stays so";
}

TEST(RequestBudget, AnyNumberOfStepsIsChargedWithoutOverflow) {
  RequestBudget budget(RequestBudget::unbounded());
  EXPECT_TRUE(budget.spend(std::uint64_t{1} << 60));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(code_of(budget.spend(UINT64_MAX)), ErrorCode::BudgetExceeded) << i;
}

TEST(RequestBudget, TheSizeOfItsFileAllowsMore) {
  RequestBudget budget;
  EXPECT_TRUE(budget.spend(limits::kRequestSteps));
  EXPECT_FALSE(RequestBudget().spend(limits::kRequestSteps + 1));
  RequestBudget larger;
  larger.allow_for(10);
  larger.allow_for(10);  // the same file
  EXPECT_TRUE(larger.spend(limits::kRequestSteps + 10 * limits::kRequestStepsPerFileByte));
  EXPECT_FALSE(larger.spend(1));
  RequestBudget both;
  both.allow_for(10);
  both.allow_more(5);
  EXPECT_TRUE(both.spend(limits::kRequestSteps + 15 * limits::kRequestStepsPerFileByte));
  EXPECT_FALSE(both.spend(1));
  RequestBudget sparse;
  sparse.allow_for(UINT64_MAX);
  EXPECT_TRUE(sparse.spend(limits::kRequestSteps + limits::kMaxRequestSteps));
  EXPECT_FALSE(sparse.spend(1)) << "the size of a sparse file costs nothing";
}

TEST(RequestBudget, EndsWhereItIsInterrupted) {
  RequestBudget budget;
  EXPECT_TRUE(budget.spend(1));
  std::thread([&] { budget.interrupt(); }).join();
  const Status interrupted = budget.spend(1);
  EXPECT_EQ(code_of(interrupted), ErrorCode::Interrupted);
  EXPECT_EQ(interrupted.error().errno_value(), EINTR);
}

TEST(RequestBudget, AsksWhetherItIsInterrupted) {
  RequestBudget budget;
  bool interrupted = false;
  budget.poll([](void* data) { return *static_cast<bool*>(data); }, &interrupted);
  EXPECT_TRUE(budget.check());
  interrupted = true;
  EXPECT_EQ(code_of(budget.check()), ErrorCode::Interrupted);
  RequestBudget quiet;
  quiet.poll([](void*) { return true; }, nullptr);
  quiet.poll(nullptr, nullptr);
  EXPECT_TRUE(quiet.check());
}

TEST(RequestBudget, EndsWhereItTakesTooLong) {
  RequestBudget budget({.steps = 100, .time = -1ms});
  const Status late = budget.check();
  EXPECT_EQ(code_of(late), ErrorCode::TimedOut);
  EXPECT_EQ(late.error().errno_value(), ETIMEDOUT);
}

TEST(RequestBudget, OneWithoutBoundsIsMadeForACall) {
  const auto spend = [](RequestBudget& budget) {
    budget.allow_more(UINT64_MAX);
    return budget.spend(std::uint64_t{1} << 61);
  };
  EXPECT_TRUE(spend(Unbounded()));
  EXPECT_TRUE(spend(Unbounded())) << "another one";
}

// A failure that is the first caller's own does not reach those who waited for it.
TEST(OnceValue, AWaiterTriesItselfWhereTheFirstCallerWasInterrupted) {
  OnceValue<int> value;
  std::atomic<bool> begun = false, go_on = false;
  std::thread first([&] {
    const auto got = value.get(
        [&]() -> Result<int> {
          begun = true;
          while (!go_on) std::this_thread::yield();
          return fail({ErrorCode::Interrupted, "of one request"});
        },
        Unbounded());
    EXPECT_FALSE(got);
  });
  while (!begun) std::this_thread::yield();
  std::thread second([&] {
    const auto got = value.get([]() -> Result<int> { return 7; }, Unbounded());
    EXPECT_EQ(got.value_or(0), 7);
  });
  go_on = true;
  first.join();
  second.join();
}

TEST(OnceValue, AWaiterThatIsInterruptedDoesNotWait) {
  OnceValue<int> value;
  std::atomic<bool> begun = false, go_on = false;
  std::thread first([&] {
    (void)value.get(
        [&]() -> Result<int> {
          begun = true;
          while (!go_on) std::this_thread::yield();
          return 7;
        },
        Unbounded());
  });
  while (!begun) std::this_thread::yield();
  RequestBudget budget;
  budget.interrupt();
  const auto got = value.get([]() -> Result<int> { return 8; }, budget);
  EXPECT_FALSE(got);
  go_on = true;
  first.join();
  EXPECT_EQ(value.peek(), 7);
}

TEST(OnceValue, KeepsOnlyFailuresThatAllRequestsMeet) {
  for (const ErrorCode code : {ErrorCode::ChecksumMismatch, ErrorCode::BudgetExceeded}) {
    OnceValue<int> value;
    int attempts = 0;
    const auto make = [&]() -> Result<int> { return ++attempts, fail({code, "bad"}); };
    RequestBudget budget;
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(value.get_once(make, budget));
    EXPECT_EQ(attempts, 1) << error_code_name(code);
  }
  for (const ErrorCode code : {ErrorCode::Interrupted, ErrorCode::TimedOut, ErrorCode::Io, ErrorCode::Stale,
                               ErrorCode::OutOfMemory}) {
    OnceValue<int> value;
    RequestBudget budget;
    EXPECT_FALSE(value.get_once([&]() -> Result<int> { return fail({code, "now"}); }, budget));
    EXPECT_EQ(value.get_once([]() -> Result<int> { return 7; }, budget).value_or(0), 7);
  }
}

}  // namespace
}  // namespace h5mount::test

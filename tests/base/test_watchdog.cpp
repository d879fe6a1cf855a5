// Watchdog: looks that find something are repeated, checks that find nothing sleep, and no wake is lost.
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>

#include "h5mount/base/watchdog.h"

namespace h5mount {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using Check = Watchdog::Check;
using Time = Watchdog::Clock::time_point;

void wait_until(const auto& condition) {
  while (!condition()) std::this_thread::sleep_for(milliseconds(1));
}

// A check that always finds something, and counts its looks.
struct Busy {
  explicit Busy(Watchdog& watchdog)
      : check(
            milliseconds(1),
            [this](Time) {
              ++looks;
              return true;
            },
            watchdog) {}
  void wait_for(int more) {
    const int before = looks;
    wait_until([&] { return looks >= before + more; });
  }
  std::atomic<int> looks = 0;
  Check check;
};

TEST(Watchdog, LooksAgainWhileSomethingIsFoundAndSleepsWhenNothingIs) {
  Watchdog watchdog(milliseconds(0));
  std::atomic<int> looks = 0;
  std::atomic<bool> something = true;
  Check check(
      milliseconds(1),
      [&](Time) {
        ++looks;
        return something.load();
      },
      watchdog);
  wait_until([&] { return looks >= 5; });
  EXPECT_FALSE(check.asleep());
  something = false;
  wait_until([&] { return check.asleep(); });
  // Another check shows that time goes by.
  Busy busy(watchdog);
  busy.wait_for(2);
  const int slept_at = looks;
  busy.wait_for(50);
  EXPECT_EQ(looks, slept_at);
  something = true;
  check.wake();
  wait_until([&] { return looks >= slept_at + 5; });
}

TEST(Watchdog, StaysAwakeForAWhileAfterItHasFoundSomething) {
  Watchdog watchdog(hours(1));
  std::atomic<int> looks = 0;
  const Check check(
      milliseconds(1),
      [&](Time) {
        ++looks;
        return false;
      },
      watchdog);
  wait_until([&] { return looks >= 20; });
  EXPECT_FALSE(check.asleep());
}

// The watchdog's thread falls asleep after each look, so that each wake meets it at another moment.
TEST(Watchdog, NoWakeIsLost) {
  Watchdog watchdog(milliseconds(0));
  std::atomic<int> given = 0, found = 0;
  Check check(
      hours(1),
      [&](Time) {
        found = given.load();
        return false;
      },
      watchdog);
  for (int i = 1; i <= 20'000; ++i) {
    given = i;
    check.wake();
    while (found != i) std::this_thread::yield();
  }
}

TEST(Watchdog, EachCheckHasItsInterval) {
  Watchdog watchdog;
  std::atomic<int> rare = 0;
  const Check check(
      hours(1),
      [&](Time) {
        ++rare;
        return true;
      },
      watchdog);
  Busy busy(watchdog);
  busy.wait_for(50);
  EXPECT_EQ(rare, 1);
}

TEST(Watchdog, HandlersOfSignalsMayWake) {
  static std::atomic<Check*> woken = nullptr;
  static std::atomic<bool> signalled = false;
  Watchdog watchdog(milliseconds(0));
  std::atomic<bool> seen = false;
  Check check(
      hours(1),
      [&](Time) {
        seen = signalled.load();
        return false;
      },
      watchdog);
  woken = &check;
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) {
    signalled = true;
    woken.load()->wake();
  };
  ASSERT_EQ(::sigaction(SIGUSR2, &action, &before), 0);
  wait_until([&] { return check.asleep(); });
  ::raise(SIGUSR2);
  wait_until([&] { return seen.load(); });
  ::sigaction(SIGUSR2, &before, nullptr);
}

TEST(Watchdog, ACheckEndsAfterItsLook) {
  Watchdog watchdog;
  std::latch looking{1}, goes_on{1};
  std::atomic<bool> looked = false, destroyed = false;
  auto check = std::make_unique<Check>(
      hours(1),
      [&](Time) {
        looking.count_down();
        goes_on.wait();
        looked = true;
        return true;
      },
      watchdog);
  looking.wait();
  std::thread destroys([&] {
    check.reset();
    EXPECT_TRUE(looked);
    destroyed = true;
  });
  EXPECT_FALSE(destroyed);
  goes_on.count_down();
  destroys.join();
  Busy busy(watchdog);  // the others go on
  busy.wait_for(2);
}

TEST(Watchdog, ALookThatThrowsIsRepeated) {
  Watchdog watchdog;
  std::atomic<int> looks = 0;
  const Check check(
      milliseconds(1),
      [&](Time) -> bool {
        ++looks;
        throw std::runtime_error("a look of a test");
      },
      watchdog);
  wait_until([&] { return looks >= 3; });
}

TEST(Watchdog, ManyThreadsMakeWakeAndEndChecks) {
  Watchdog watchdog(milliseconds(0));
  std::array<std::thread, 4> threads;
  for (std::thread& thread : threads)
    thread = std::thread([&] {
      for (int i = 0; i < 500; ++i) {
        std::atomic<int> looks = 0;
        Check check(
            milliseconds(1),
            [&](Time) {
              ++looks;
              return false;
            },
            watchdog);
        check.wake();
        while (looks == 0) std::this_thread::yield();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace h5mount

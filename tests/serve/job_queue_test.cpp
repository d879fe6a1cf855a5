#include "job_queue.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <latch>

#include "h5mount/base/limits.h"
#include "h5mount/base/unique_fd.h"
#include "request_work.h"

namespace h5mount::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Time for what should happen at once, on a machine that does other things too.
constexpr seconds kAtOnce{20};

// Jobs that hang until they are released.
struct Hanging {
  std::atomic<int> running = 0, most = 0;
  std::latch released{1};
  void run() {
    const int now = ++running;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    released.wait();
    --running;
  }
};

bool becomes_true(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kAtOnce;
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(5));
  return condition();
}

TEST(JobQueue, JobsThatHangDoNotHoldUpOthers) {
  Hanging hanging;
  std::atomic<bool> done = false;
  JobQueue jobs({2, 2, 300});
  for (int i = 0; i < 200; ++i) jobs.submit(Pace::Quick, [&] { hanging.run(); });
  jobs.submit(Pace::Quick, [&] { done = true; });
  EXPECT_TRUE(becomes_true([&] { return done.load(); }));
  EXPECT_EQ(hanging.running, 200);
  hanging.released.count_down();
}

TEST(JobQueue, NoMoreThreadsAreStartedThanMayBe) {
  Hanging hanging;
  std::atomic<int> done = 0;
  JobQueue jobs({2, 2, 20});
  for (int i = 0; i < 100; ++i)
    jobs.submit(Pace::Quick, [&] {
      hanging.run();
      ++done;
    });
  EXPECT_TRUE(becomes_true([&] { return hanging.running == 20; }));
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(hanging.most, 20);
  hanging.released.count_down();
  EXPECT_TRUE(becomes_true([&] { return done == 100; }));
}

TEST(JobQueue, LongJobsShareAFewThreadsAndQuickOnesPassThem) {
  std::atomic<int> running = 0, most = 0, done = 0, quick = 0;
  JobQueue jobs({2, 3, 100});
  for (int i = 0; i < 60; ++i)
    jobs.submit(Pace::Long, [&] {
      const int now = ++running;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::sleep_for(milliseconds(20));
      --running;
      ++done;
    });
  int waiting = 0;
  jobs.submit(Pace::Quick, [&] {
    waiting = 60 - done;
    ++quick;
  });
  EXPECT_TRUE(becomes_true([&] { return done == 60 && quick == 1; }));
  EXPECT_LE(most, 3);
  EXPECT_GT(waiting, 20);
}

TEST(JobQueue, LongJobsThatHangDoNotHoldUpOtherLongOnes) {
  Hanging hanging;
  std::atomic<bool> done = false;
  JobQueue jobs({2, 2, 100});
  for (int i = 0; i < 10; ++i) jobs.submit(Pace::Long, [&] { hanging.run(); });
  jobs.submit(Pace::Long, [&] { done = true; });
  EXPECT_TRUE(becomes_true([&] { return done.load(); }));
  hanging.released.count_down();
}

TEST(JobQueue, EndsWithoutTheJobsThatHaveNotBegun) {
  std::atomic<int> done = 0;
  {
    JobQueue jobs({1, 1, 2});
    for (int i = 0; i < 100; ++i)
      jobs.submit(Pace::Quick, [&] {
        std::this_thread::sleep_for(milliseconds(5));
        ++done;
      });
  }
  EXPECT_LT(done, 100);
}

TEST(RequestWork, IsBoundedAndWhatWasSentPaysForMore) {
  RequestWork work;
  EXPECT_TRUE(work.budget().spend(limits::kRequestSteps));
  EXPECT_FALSE(work.budget().spend(1000));
  work.gave(1 << 20);
  EXPECT_TRUE(work.budget().spend(20 << 20));
  EXPECT_FALSE(work.budget().spend(limits::kRequestSteps));
}

TEST(RequestWork, EndsWhenTheClientGoes) {
  std::array<int, 2> pair = {};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const UniqueFd server(pair[0]);
  UniqueFd client(pair[1]);
  RequestWork work(server.get());
  EXPECT_TRUE(work.budget().check());
  client = UniqueFd();
  const Status gone = work.budget().check();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code(), ErrorCode::Interrupted);
  EXPECT_FALSE(work.timed_out());
}

}  // namespace
}  // namespace h5mount::serve

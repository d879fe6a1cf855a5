// JobQueue: order, bound, the ways to end it, and what hangs.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "h5mount/base/job_queue.h"

namespace h5mount {
namespace {

using std::chrono::milliseconds;

JobQueue::Options with_threads(unsigned threads, std::size_t limit = JobQueue::kUnlimited) {
  return {.name = "h5-test", .threads = threads, .limit = limit};
}

void wait_until(const auto& condition) {
  while (!condition()) std::this_thread::sleep_for(milliseconds(1));
}

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

TEST(JobQueue, OneThreadRunsJobsInTheirOrder) {
  std::vector<int> order;
  JobQueue jobs(with_threads(1));
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(jobs.submit([&order, i] { order.push_back(i); }));
  jobs.drain();
  std::vector<int> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST(JobQueue, ItsThreadsHaveItsNameAndNoSignals) {
  std::string name;
  sigset_t blocked{};
  JobQueue jobs(with_threads(1));
  jobs.submit([&] {
    std::array<char, 16> buffer{};
    ::pthread_getname_np(::pthread_self(), buffer.data(), buffer.size());
    name = buffer.data();
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  });
  jobs.drain();
  EXPECT_EQ(name, "h5-test");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) EXPECT_EQ(sigismember(&blocked, signal), 1);
}

TEST(JobQueue, AFullQueueLetsTheSubmitterWait) {
  constexpr int kJobs = 200;
  constexpr std::size_t kLimit = 3;
  Hanging hanging;
  std::atomic<int> submitted = 0, done = 0, most_waiting = 0;
  JobQueue jobs(with_threads(1, kLimit));
  jobs.submit([&] { hanging.run(); });
  wait_until([&] { return hanging.running == 1; });
  std::thread producer([&] {
    for (int i = 0; i < kJobs; ++i) {
      jobs.submit([&] {
        // Submitted and not begun: this one has begun, and one more may be submitted and not counted yet.
        const int waiting = submitted - done++;
        for (int seen = most_waiting; seen < waiting && !most_waiting.compare_exchange_weak(seen, waiting);) {
        }
      });
      ++submitted;
    }
  });
  wait_until([&] { return submitted == static_cast<int>(kLimit); });
  hanging.released.count_down();
  producer.join();
  jobs.drain();
  EXPECT_EQ(done, kJobs);
  EXPECT_LE(most_waiting, static_cast<int>(kLimit) + 1);
}

TEST(JobQueue, ASubmitterThatWaitsIsTurnedAwayWhenTheQueueStops) {
  Hanging hanging;
  std::atomic<bool> ran = false, taken = true;
  JobQueue jobs(with_threads(1, 1));
  jobs.submit([&] { hanging.run(); });
  wait_until([&] { return hanging.running == 1; });
  jobs.submit([&] { ran = true; });  // the queue is full
  std::thread waits([&] { taken = jobs.submit([&] { ran = true; }); });
  std::thread stops([&] { jobs.stop(); });
  waits.join();
  hanging.released.count_down();
  stops.join();
  EXPECT_FALSE(taken);
  EXPECT_FALSE(ran);
  EXPECT_FALSE(jobs.submit([&] { ran = true; }));
}

TEST(JobQueue, DrainRunsWhatWaitsAndStopDropsIt) {
  for (const bool drained : {true, false}) {
    Hanging hanging;
    std::atomic<int> done = 0;
    const auto held = std::make_shared<int>();
    JobQueue jobs(with_threads(2));
    for (int i = 0; i < 2; ++i) jobs.submit([&] { hanging.run(); });
    wait_until([&] { return hanging.running == 2; });
    for (int i = 0; i < 100; ++i) jobs.submit([&done, held] { ++done; });
    std::thread ends([&] { drained ? jobs.drain() : jobs.stop(); });
    if (!drained) wait_until([&] { return held.use_count() == 1; });  // dropped although others hang
    hanging.released.count_down();
    ends.join();
    EXPECT_EQ(done, drained ? 100 : 0);
    EXPECT_EQ(held.use_count(), 1);
  }
}

TEST(JobQueue, StopWithRunsOneMoreAndNoOther) {
  Hanging hanging;
  std::atomic<int> done = 0;
  std::atomic<bool> last = false;
  JobQueue jobs(with_threads(1));
  jobs.submit([&] { hanging.run(); });
  wait_until([&] { return hanging.running == 1; });
  for (int i = 0; i < 10; ++i) jobs.submit([&] { ++done; });
  jobs.stop_with([&] { last = true; });  // does not wait for the one that hangs
  EXPECT_FALSE(jobs.submit([&] { ++done; }));
  EXPECT_FALSE(last);
  jobs.stop_with([&] { ++done; });
  hanging.released.count_down();
  jobs.stop();
  EXPECT_TRUE(last);
  EXPECT_EQ(done, 0);
}

TEST(JobQueue, AJobThatThrowsDoesNotEndItsThread) {
  std::atomic<int> done = 0;
  JobQueue jobs(with_threads(1));
  for (int i = 0; i < 10; ++i)
    jobs.submit([&] {
      ++done;
      throw std::runtime_error("a job of a test");
    });
  jobs.drain();
  EXPECT_EQ(done, 10);
}

TEST(JobQueue, ManySubmittersAndThreads) {
  std::atomic<int> done = 0;
  JobQueue jobs(with_threads(4, 8));
  std::vector<std::thread> submitters;
  for (int i = 0; i < 4; ++i)
    submitters.emplace_back([&] {
      for (int j = 0; j < 2000; ++j) jobs.submit([&] { ++done; });
    });
  for (std::thread& submitter : submitters) submitter.join();
  jobs.drain();
  EXPECT_EQ(done, 8000);
}

JobQueue::Options replacing(unsigned threads, unsigned max_threads) {
  return {.name = "h5-test",
          .threads = threads,
          .limit = JobQueue::kUnlimited,
          .patience = milliseconds(5),
          .max_threads = max_threads};
}

TEST(JobQueue, JobsThatHangDoNotHoldUpOthers) {
  Hanging hanging;
  std::atomic<bool> done = false;
  JobQueue jobs(replacing(2, 300));
  for (int i = 0; i < 200; ++i) jobs.submit([&] { hanging.run(); });
  jobs.submit([&] { done = true; });
  wait_until([&] { return done.load(); });
  EXPECT_EQ(hanging.running, 200);
  hanging.released.count_down();
}

TEST(JobQueue, NoMoreThreadsAreStartedThanMayBe) {
  Hanging hanging;
  std::atomic<int> done = 0;
  {
    JobQueue jobs(replacing(2, 20));
    for (int i = 0; i < 100; ++i)
      jobs.submit([&] {
        hanging.run();
        ++done;
      });
    wait_until([&] { return hanging.running == 20; });
    std::this_thread::sleep_for(milliseconds(50));  // time to start more
    hanging.released.count_down();
    jobs.drain();
  }
  EXPECT_EQ(hanging.most, 20);
  EXPECT_EQ(done, 100);
}

TEST(JobQueue, JobsWithinItsPatienceShareItsThreads) {
  std::atomic<int> running = 0, most = 0, done = 0;
  JobQueue::Options options = replacing(3, 100);
  options.patience = std::chrono::hours(1);
  JobQueue jobs(options);
  for (int i = 0; i < 60; ++i)
    jobs.submit([&] {
      const int now = ++running;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::sleep_for(milliseconds(5));
      --running;
      ++done;
    });
  jobs.drain();
  EXPECT_EQ(done, 60);
  EXPECT_LE(most, 3);
}

TEST(JobQueue, EndsWhileFurtherThreadsAreStarted) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> done = 0;
    JobQueue jobs(replacing(1, 10));
    for (int i = 0; i < 20; ++i)
      jobs.submit([&] {
        std::this_thread::sleep_for(milliseconds(7));
        ++done;
      });
    if (round % 2 == 0) {
      jobs.drain();
      EXPECT_EQ(done, 20);
    }
  }
}

}  // namespace
}  // namespace h5mount

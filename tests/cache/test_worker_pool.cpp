#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "h5mount/base/log.h"
#include "h5mount/cache/worker_pool.h"

namespace h5mount::cache {
namespace {

TEST(WorkerPool, EveryIndexOnce) {
  WorkerPool pool(3);
  std::vector<std::atomic<int>> seen(1000);
  pool.for_each_index(seen.size(), [&](std::size_t i) { ++seen[i]; });
  for (const auto& s : seen) EXPECT_EQ(s, 1);
}

TEST(WorkerPool, NestedCallsEnd) {
  WorkerPool pool(2);
  std::atomic<int> count{0};
  pool.for_each_index(8, [&](std::size_t) { pool.for_each_index(8, [&](std::size_t) { ++count; }); });
  EXPECT_EQ(count, 64);
}

TEST(WorkerPool, AnExceptionReachesTheCaller) {
  WorkerPool pool(2);
  EXPECT_THROW(pool.for_each_index(10,
                                   [](std::size_t i) {
                                     if (i == 3) throw std::runtime_error("x");
                                   }),
               std::runtime_error);
}

TEST(WorkerPool, AFailingJobDoesNotEndItsWorker) {
  set_log_level(LogLevel::Error);
  WorkerPool pool(1);
  std::mutex mutex;
  std::condition_variable done;
  bool ran = false;
  ASSERT_TRUE(pool.submit([] { throw std::runtime_error("expected by this test"); }));
  ASSERT_TRUE(pool.submit([&] {
    const std::lock_guard lock(mutex);
    ran = true;
    done.notify_all();
  }));
  std::unique_lock lock(mutex);
  EXPECT_TRUE(done.wait_for(lock, std::chrono::seconds(10), [&] { return ran; }));
}

TEST(WorkerPool, AFullQueueRefuses) {
  WorkerPool pool(1);
  std::mutex hold;
  const std::lock_guard lock(hold);
  ASSERT_TRUE(pool.submit([&] { const std::lock_guard wait(hold); }));
  bool refused = false;
  for (int i = 0; i < 10 && !refused; ++i) refused = !pool.submit([] {}, 4);
  EXPECT_TRUE(refused);
}

// Holds up that many workers until `release`, and returns when they are.
void hold_up(WorkerPool& pool, unsigned workers, const std::shared_future<void>& release) {
  std::promise<void> all;
  std::atomic<unsigned> held{0};
  for (unsigned i = 0; i < workers; ++i)
    ASSERT_TRUE(pool.submit([&all, &held, workers, release] {
      if (++held == workers) all.set_value();
      release.wait();
    }));
  all.get_future().wait();
}

// Four calls with many jobs do not keep the worker from the jobs of a fifth. The callers are held up in their
// own first jobs, so that all other jobs are the worker's; it begins when all calls are there.
TEST(WorkerPool, TheWorkersAreSharedBetweenCalls) {
  constexpr std::size_t kCalls = 5, kMany = 200, kFew = 20;
  WorkerPool pool(1);
  std::promise<void> all_called, worker_done;
  std::shared_future<void> begin = all_called.get_future().share(), end = worker_done.get_future().share();
  hold_up(pool, 1, begin);
  std::vector<std::size_t> order;  // of the calls whose jobs the worker ran
  std::atomic<std::size_t> held{0};
  std::vector<std::jthread> callers;
  for (std::size_t call = 0; call < kCalls; ++call)
    callers.emplace_back([&, call] {
      const std::thread::id caller = std::this_thread::get_id();
      const std::size_t count = call + 1 == kCalls ? kFew : kMany;
      pool.for_each_index(count, [&, call, caller](std::size_t) {
        if (std::this_thread::get_id() == caller) {
          if (++held == kCalls) all_called.set_value();
          end.wait();
          return;
        }
        order.push_back(call);
        if (order.size() == (kCalls - 1) * (kMany - 1) + kFew - 1) worker_done.set_value();
      });
    });
  callers.clear();
  std::size_t few_done = 0, at = 0;
  while (few_done < kFew - 1) few_done += order[at++] == kCalls - 1 ? 1 : 0;
  EXPECT_LE(at, kCalls * kFew);
}

// While every worker is held up, calls end by their callers alone, and leave nothing behind.
TEST(WorkerPool, CallersDoNotNeedTheWorkers) {
  WorkerPool pool(2);
  std::promise<void> released;
  std::shared_future<void> release = released.get_future().share();
  hold_up(pool, 2, release);
  std::atomic<int> count{0};
  for (int i = 0; i < 10'000; ++i) pool.for_each_index(4, [&](std::size_t) { ++count; });
  EXPECT_EQ(count, 40'000);
  EXPECT_TRUE(pool.submit([] {}, 1)) << "jobs of calls are queued";
  released.set_value();
}

}  // namespace
}  // namespace h5mount::cache

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
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

}  // namespace
}  // namespace h5mount::cache

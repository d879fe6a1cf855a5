#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "chunked/admission.h"

namespace h5mount::dataset {
namespace {

constexpr std::uint64_t kLarge = 2 * Admission::kSmall;

TEST(Admission, SmallDecodesDoNotWaitForLargeOnes) {
  Admission pool(1);
  std::optional<Admission::Lease> large(std::in_place, pool, DecodeMemory{kLarge, kLarge});
  std::thread waiting([&] { const Admission::Lease second(pool, {kLarge, kLarge}); });
  {
    const Admission::Lease small(pool, {Admission::kSmall, kLarge});  // for ever where it waits for them
    EXPECT_EQ(pool.most_bytes_in_flight(), kLarge);
  }
  large.reset();
  waiting.join();
}

TEST(Admission, LargeDecodesTogetherStayWithinTheirBytes) {
  Admission pool(1);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) const Admission::Lease lease(pool, {kLarge, 3 * kLarge});
    });
  threads.clear();
  EXPECT_LE(pool.most_bytes_in_flight(), 3 * kLarge);
  EXPECT_GE(pool.most_bytes_in_flight(), kLarge);
}

TEST(Admission, OneThatNeedsMoreThanAllRunsAlone) {
  Admission pool(1);
  std::vector<std::jthread> threads;
  std::atomic<int> running = 0, most = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        const Admission::Lease lease(pool, {10 * kLarge, kLarge});
        most = std::max(most.load(), ++running);
        std::this_thread::yield();
        --running;
      }
    });
  threads.clear();
  EXPECT_EQ(most, 1);
}

// A dataset with many decodes that wait holds up another for one of them, whichever way they are admitted.
TEST(Admission, DatasetsTakeTurns) {
  for (const std::uint64_t bytes : {Admission::kSmall, kLarge}) {
    Admission pool(1);
    const int many = 0, few = 0;  // two owners
    std::vector<std::jthread> threads;
    std::mutex mutex;
    std::vector<const void*> order;
    std::optional<Admission::Lease> first(std::in_place, pool, DecodeMemory{bytes, bytes, &many});
    const auto ask = [&](const void* owner) {
      threads.emplace_back([&, owner] {
        const Admission::Lease lease(pool, {bytes, bytes, owner});
        const std::lock_guard lock(mutex);
        order.push_back(owner);
      });
      while (pool.waiting() < threads.size()) std::this_thread::yield();
    };
    for (int i = 0; i < 20; ++i) ask(&many);
    for (int i = 0; i < 3; ++i) ask(&few);
    first.reset();
    threads.clear();
    ASSERT_EQ(order.size(), 23U);
    EXPECT_EQ(std::vector(order.begin(), order.begin() + 6),
              (std::vector<const void*>{&many, &few, &many, &few, &many, &few}));
  }
}

TEST(Admission, NobodyPassesOneWhoHasWaitedLong) {
  for (const std::uint64_t bytes : {Admission::kSmall, kLarge}) {
    Admission pool(1);
    std::atomic<bool> served = false;
    std::optional<Admission::Lease> lease(std::in_place, pool, DecodeMemory{bytes, bytes});
    std::jthread waits([&] {
      const Admission::Lease own(pool, {bytes, bytes});
      served = true;
    });
    while (pool.waiting() == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    lease.reset();
    lease.emplace(pool, DecodeMemory{bytes, bytes});  // at once, before the other thread has woken up
    EXPECT_TRUE(served);
    lease.reset();  // the other thread ends although it was passed
  }
}

// A source that answers when the test lets it.
class HangingSource final : public io::ByteSource {
 public:
  Status read_at(std::uint64_t, MutableByteSpan) const override {
    ++reading;
    released.wait();
    return {};
  }
  std::uint64_t size() const override { return 1; }
  std::string name() const override { return "hanging"; }

  mutable std::atomic<int> reading = 0;
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
};

// Decodes that wait for a source that hangs give their places to others, and take places again behind it.
TEST(Admission, DecodesWhoseSourceHangsHoldUpNobody) {
  for (const std::uint64_t bytes : {Admission::kSmall, kLarge}) {
    Admission pool(2, {.hangs_after = std::chrono::milliseconds(20)});
    HangingSource source;
    std::atomic<int> running = 0, most = 0;
    std::vector<std::jthread> threads;
    constexpr int kHung = 8;
    for (int i = 0; i < kHung; ++i)
      threads.emplace_back([&] {
        Admission::Lease lease(pool, {bytes, kLarge});
        EXPECT_TRUE(lease->read(source, 0, {}));
        most = std::max(most.load(), ++running);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        --running;
      });
    while (source.reading < kHung) std::this_thread::yield();
    {
      const Admission::Lease other(pool, {bytes, kLarge});
    }  // for ever where it waits for them
    source.release.set_value();
    threads.clear();
    // One more may run where a place is given away at the moment when its reader comes back.
    EXPECT_LE(most, bytes > Admission::kSmall ? 2 : 4);
    const Admission::Lease all(pool, {bytes, kLarge});
  }
}

// A source that is slow is not one that hangs: so many bytes are under way, and only as many more of those
// whose place was given away.
TEST(Admission, LargeReadsAreBoundedByTheirBytesAlsoWhereTheyHang) {
  constexpr std::uint64_t kBytes = 2000;
  Admission pool(16,
                 {.small = 1000, .hangs_after = std::chrono::milliseconds(20), .most_released = 3 * kBytes});
  HangingSource source;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      Admission::Lease lease(pool, {kBytes, 2 * kBytes});
      EXPECT_TRUE(lease->read(source, 0, {}));
    });
  while (source.reading < 5) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(source.reading, 5);
  EXPECT_LE(pool.most_bytes_in_flight(), 2 * kBytes);
  const Admission::Lease little(pool, {1000, 2 * kBytes});  // has a place of its own
  source.release.set_value();
  threads.clear();
  EXPECT_EQ(source.reading, 8);
}

TEST(Admission, AReadMayTakeTheTimeThatItsBytesTake) {
  Admission pool(1, {.hangs_after = std::chrono::milliseconds(20), .least_rate = Admission::kSmall / 1000});
  HangingSource source;
  std::jthread reads([&] {
    Admission::Lease lease(pool, {Admission::kSmall, 0});
    EXPECT_TRUE(lease->read(source, 0, {}));
  });
  while (source.reading == 0) std::this_thread::yield();
  std::jthread waits([&] { const Admission::Lease lease(pool, {1, 0}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(pool.waiting(), 1U) << "eight megabytes may take a thousand seconds";
  source.release.set_value();
}

}  // namespace
}  // namespace h5mount::dataset

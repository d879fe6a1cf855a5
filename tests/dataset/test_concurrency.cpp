// Sixteen threads read and decode at the same time, whatever the number of processors: nothing between the
// cache and the source is held by one thread alone.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "memory_dataset.h"

namespace h5mount::test {
namespace {

constexpr unsigned kThreads = 16;

// Holds every read until so many are held at once; then holds none.
class Meeting {
 public:
  explicit Meeting(unsigned expected) : expected_(expected) {}
  void attend() {
    std::unique_lock lock(mutex_);
    if (++present_ >= expected_) {
      met_ = true;
      changed_.notify_all();
    }
    // Where fewer can be here at once, the test fails instead of waiting for ever.
    changed_.wait_for(lock, std::chrono::seconds(60), [&] { return met_; });
    --present_;
  }
  bool met() const { return met_; }

 private:
  const unsigned expected_;
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned present_ = 0;
  bool met_ = false;
};

const MemoryDataset& dataset_of_chunks() {
  static const MemoryDataset* const made =
      new MemoryDataset({.dims = {256, 64}, .chunk_dims = {8, 8}, .element_size = 4, .filtered = true}, 1);
  return *made;
}

// The index is read before the chunks: the meeting begins when it is in memory.
std::shared_ptr<const dataset::DatasetReader> open_at_meeting(const dataset::ReadEnvironment& environment,
                                                              Meeting& meeting, std::atomic<bool>& begun) {
  auto reader = dataset_of_chunks().open_reader(environment, [&meeting, &begun](std::size_t) {
    if (begun) meeting.attend();
  });
  EXPECT_TRUE(reader->storage_bytes(Unbounded()));
  begun = true;
  return reader;
}

TEST(Concurrency, SixteenThreadsDecodeOneReadersRows) {
  Meeting meeting(kThreads);
  std::atomic<bool> begun = false;
  const auto environment = dataset_of_chunks().environment(1 << 20, kThreads - 1);
  const auto reader = open_at_meeting(environment, meeting, begun);
  dataset::Pieces pieces;
  ASSERT_TRUE(reader->read(0, reader->size(), {nullptr, Unbounded()}, pieces));
  EXPECT_TRUE(meeting.met());
  EXPECT_EQ(pieces.total(), reader->size());
}

TEST(Concurrency, SixteenReadersDecodeAtOnce) {
  Meeting meeting(kThreads);
  std::atomic<bool> begun = false;
  const auto environment = dataset_of_chunks().environment(1 << 20, kThreads - 1);
  const auto reader = open_at_meeting(environment, meeting, begun);
  std::atomic<int> right = 0;
  std::vector<std::thread> readers;
  for (unsigned i = 0; i < kThreads; ++i) {
    readers.emplace_back([&, i] {
      const std::uint64_t at = std::uint64_t{i} * 8 * 64 * 4;  // a chunk of its own
      dataset::Pieces pieces;
      if (!reader->read(at, 4, {nullptr, Unbounded()}, pieces) || pieces.total() != 4) return;
      const ByteSpan seen = pieces.list().front().bytes;
      if (std::ranges::equal(seen, ByteSpan(dataset_of_chunks().image()).subspan(at, 4))) ++right;
    });
  }
  for (std::thread& one : readers) one.join();
  EXPECT_TRUE(meeting.met());
  EXPECT_EQ(right, static_cast<int>(kThreads));
}

}  // namespace
}  // namespace h5mount::test

// StridePattern: recognises a reader that takes a little at equal distances (down a column, every tenth row)
// from what the kernel asks for: the page of each place, and nothing of places that it holds already. Pure
// arithmetic. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace h5mount::tree {

class StridePattern {
 public:
  // `row_bytes`: the distances that a reader of this image may well go by, those of its dimensions. A place
  // need not begin at a page, and what is not a multiple of pages cannot be told from page numbers alone.
  StridePattern(std::uint64_t image_bytes, std::vector<std::uint64_t> row_bytes);

  // ObjectPaths that will be asked for soon, if it goes on like this: the pages that hold
  // [first + i * stride, first + i * stride + bytes) for all i < count but `left_out`. The place left out
  // will be asked for when the reader gets there, which tells that it is time for the next batch.
  struct Batch {
    std::uint64_t first = 0, stride = 0, bytes = 0, count = 0, left_out = 0;
  };
  // Notes a request of whole pages; a batch where there is one to prepare. What is prepared and never asked
  // for is never much more than what was asked for before it.
  std::optional<Batch> note(std::uint64_t offset, std::uint64_t length);
  // Another number when the reader no longer goes on as it did: batches of earlier runs are of no use.
  std::uint64_t run() const { return run_; }

 private:
  bool goes_on(std::uint64_t offset, std::uint64_t length);
  void begin(std::uint64_t offset, std::uint64_t length);
  std::uint64_t stride_near(std::uint64_t distance) const;
  std::optional<Batch> next_batch();

  std::uint64_t image_bytes_;
  std::vector<std::uint64_t> row_bytes_;  // largest first
  std::uint64_t run_ = 0;
  std::uint64_t stride_ = 0;  // 0: none yet
  std::uint64_t last_offset_ = 0, last_length_ = 0;
  std::uint64_t longest_ = 0;         // request of this run
  std::uint64_t low_ = 0, high_ = 0;  // the current place begins in [low, high)
  std::uint64_t place_ = 0;           // number of the current place within the run
  std::uint64_t asked_ = 0;           // requests of the run
  std::uint64_t ready_ = 0;           // number of the first place that no batch has held
  std::uint64_t batch_ = 0;           // places of the last batch
  std::uint64_t window_ = 0;          // and of the next
};

}  // namespace h5mount::tree

// StridePattern: recognises a reader that reads a little at equal distances (down a column, every tenth row)
// from the kernel's requests: the page of each position, unless the kernel already has it. Pure arithmetic.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace h5mount::fuse {

class StridePattern {
 public:
  // `row_bytes`: the plausible distances for this image, from its dimensions. A position need not be the
  // start of a page, and a distance that is not a multiple of the page size cannot be determined from page
  // numbers alone.
  StridePattern(std::uint64_t image_bytes, std::vector<std::uint64_t> row_bytes);

  // The positions that will be requested soon if the pattern continues: the pages that contain [first + i *
  // stride, first + i * stride + bytes) for all i < count except `skipped`. The request for the skipped
  // position shows that it is time for the next batch.
  struct Batch {
    std::uint64_t first = 0, stride = 0, bytes = 0, count = 0, skipped = 0;
  };
  // Notes a request for whole pages; returns a batch if one should be prepared. Batches that are not used are
  // bounded: never much more than what was requested before.
  std::optional<Batch> note(std::uint64_t offset, std::uint64_t length);
  // Changes when the reader leaves the pattern: batches of earlier runs are then obsolete.
  std::uint64_t run() const { return run_; }

 private:
  static constexpr std::uint64_t kSure = 3;  // requests at equal distances
  bool continues(std::uint64_t offset, std::uint64_t length);
  void begin(std::uint64_t offset, std::uint64_t length);
  std::uint64_t stride_near(std::uint64_t distance) const;
  std::optional<Batch> next_batch();

  std::uint64_t image_bytes_;
  std::vector<std::uint64_t> row_bytes_;  // largest first
  std::uint64_t run_ = 0;
  std::uint64_t stride_ = 0;  // 0: none yet
  std::uint64_t last_offset_ = 0, last_length_ = 0;
  std::uint64_t longest_ = 0;         // request of this run
  std::uint64_t low_ = 0, high_ = 0;  // the current position starts in [low, high)
  std::uint64_t place_ = 0;           // number of the current position within the run
  std::uint64_t asked_ = 0;           // requests of the run
  std::uint64_t ready_ = 0;           // number of the first position that was in no batch
  std::uint64_t batch_ = 0;           // positions of the last batch
  std::uint64_t window_ = 0;          // and of the next
};

}  // namespace h5mount::fuse

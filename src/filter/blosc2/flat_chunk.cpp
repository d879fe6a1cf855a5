#include "flat_chunk.h"

#include <algorithm>

#include "block_reader.h"
#include "box_runs.h"
#include "h5mount/base/checked.h"

namespace h5mount::filter::blosc {
namespace {

class FlatChunk final : public PartialChunk {
 public:
  explicit FlatChunk(const Chunk& chunk) : chunk_(chunk) {}

  Status read_box(const ChunkBox& box, MutableByteSpan out) const override {
    std::size_t done = 0;
    BlockReader reader(chunk_);
    return for_each_run(box, [&](std::size_t offset, std::size_t bytes) {
      done += bytes;
      return reader.read(offset, out.subspan(done - bytes, bytes));
    });
  }

  std::uint64_t blocks_of(const ChunkBox& box) const override {
    if (chunk_.is_plain()) return 0;
    std::uint64_t blocks = 0;
    std::uint64_t next = 0;  // the first block not yet counted
    const Status counted = for_each_run(box, [&](std::size_t offset, std::size_t bytes) -> Status {
      const std::uint64_t first = std::max<std::uint64_t>(offset / chunk_.blocksize(), next);
      const std::uint64_t end = (offset + bytes - 1) / chunk_.blocksize() + 1;
      if (end > first) blocks += end - first;
      next = std::max(next, end);
      return {};
    });
    return counted ? blocks : block_count();
  }

  std::uint64_t block_count() const override {
    return chunk_.is_plain() ? 0 : divide_up(chunk_.nbytes(), chunk_.blocksize());
  }

 private:
  Chunk chunk_;
};

}  // namespace

std::unique_ptr<PartialChunk> make_flat_chunk(const Chunk& chunk, std::size_t decoded_bytes) {
  if (chunk.nbytes() != decoded_bytes || decoded_bytes == 0) return nullptr;
  return std::make_unique<FlatChunk>(chunk);
}

}  // namespace h5mount::filter::blosc

// Blosc 2 (filter 32026): the stored chunk is a contiguous frame (frame.h). With an array metalayer the frame
// holds the HDF5 chunk as an n-dimensional array of inner chunks and blocks; without one, the frame's first
// inner chunk is the HDF5 chunk. The client data repeat the frame's fields and are not used.
#include <algorithm>

#include "../filters.h"
#include "../temporary.h"
#include "box_runs.h"
#include "flat_chunk.h"
#include "frame.h"
#include "nd_array.h"

namespace h5mount::filter {
namespace {

using namespace blosc;

class PartialArray final : public PartialChunk {
 public:
  explicit PartialArray(NdArray array) : array_(std::move(array)) {}

  Status read_box(const ChunkBox& box, MutableByteSpan out) const override {
    if (fits(box)) return array_.read_box(box.start, box.count, out);
    const Temporary all(static_cast<std::size_t>(array_.layout().array_bytes));
    H5_TRY(array_.read_all(all.bytes()));
    std::size_t done = 0;
    return for_each_run(box, [&](std::size_t offset, std::size_t bytes) -> Status {
      std::memcpy(out.data() + done, all.bytes().data() + offset, bytes);
      done += bytes;
      return {};
    });
  }
  std::uint64_t blocks_of(const ChunkBox& box) const override {
    return fits(box) ? array_.blocks_of(box.start, box.count) : array_.block_count();
  }
  std::uint64_t block_count() const override { return array_.block_count(); }

 private:
  // Whether the array has the chunk's shape. Writers that bypass the filter may have stored an array of
  // another shape with the same number of bytes.
  bool fits(const ChunkBox& box) const {
    return box.element_size == array_.layout().item_bytes &&
           std::ranges::equal(box.dims, array_.layout().shape);
  }

  NdArray array_;
};

class Blosc2 final : public Filter {
 public:
  Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const override {
    H5_ASSIGN(const Frame frame, Frame::open(in, out.size()));
    H5_ASSIGN(const std::optional<NdArray> array, NdArray::open(frame, out.size()));
    if (array) {
      const std::uint64_t bytes = array->layout().array_bytes;
      if (bytes > out.size()) return failed("blosc2", "an array larger than the chunk");
      H5_TRY(array->read_all(out.first(static_cast<std::size_t>(bytes))));
      return static_cast<std::size_t>(bytes);
    }
    if (frame.chunk_count() == 0) return 0;
    if (frame.chunk_bytes(0) > out.size()) return failed("blosc2", "more bytes declared than the chunk has");
    H5_ASSIGN(const Chunk chunk, frame.chunk(0));
    H5_TRY(chunk.decode(out.first(chunk.nbytes())));
    return chunk.nbytes();
  }

  bool may_decode_partially() const override { return true; }

  Result<std::unique_ptr<PartialChunk>> open_partial(ByteSpan in, std::size_t decoded_bytes) const override {
    H5_ASSIGN(const Frame frame, Frame::open(in, decoded_bytes));
    H5_ASSIGN(std::optional<NdArray> array, NdArray::open(frame, decoded_bytes));
    if (array) {
      if (array->layout().array_bytes != decoded_bytes || decoded_bytes == 0) return nullptr;
      return std::make_unique<PartialArray>(*std::move(array));
    }
    if (frame.chunk_count() == 0 || frame.chunk_bytes(0) != decoded_bytes) return nullptr;
    H5_ASSIGN(const Chunk chunk, frame.chunk(0));
    return make_flat_chunk(chunk, decoded_bytes);
  }
};

}  // namespace

Result<FilterPtr> make_blosc2(const FilterSpec&, std::size_t) {
  return std::make_shared<Blosc2>();
}

}  // namespace h5mount::filter

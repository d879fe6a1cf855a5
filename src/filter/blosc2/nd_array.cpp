#include "nd_array.h"

#include <algorithm>

#include "../filters.h"
#include "../temporary.h"
#include "h5mount/base/row_major.h"
#include "nd_copy.h"

namespace h5mount::filter::blosc {
namespace {

// Blocks may be padded, but not to a size far beyond the array's.
constexpr std::uint64_t kBlockBytesPerByte = 16;
constexpr std::uint64_t kMinBlockBytes = 1U << 20;

using Shape = std::vector<std::uint64_t>;

// Reads one box. Holds the state of its steps, so that reading a block allocates nothing.
class BoxReader {
 public:
  BoxReader(const Frame& frame, const NdLayout& layout, Extents start, Extents count, MutableByteSpan out)
      : frame_(frame),
        layout_(layout),
        start_(start),
        count_(count),
        out_(out),
        first_block_(layout.rank()),
        last_block_(layout.rank()),
        origin_(layout.rank()),
        extent_(layout.rank()),
        in_block_(layout.rank()),
        in_out_(layout.rank()) {}

  Status read() {
    const std::size_t rank = layout_.rank();
    Shape first(rank), last(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      first[d] = start_[d] / layout_.chunk_shape[d];
      last[d] = (start_[d] + count_[d] - 1) / layout_.chunk_shape[d] + 1;
    }
    H5_ASSIGN(const auto chunks, InnerChunks::open(frame_));
    Shape at = first;
    do {
      H5_ASSIGN(Chunk chunk, chunks->chunk(row_major_number(at, layout_.chunk_grid)));
      chunk.set_block_shape(layout_.block_shape);
      H5_TRY(read_chunk(chunk, at));
    } while (step_box(at, first, last));
    return {};
  }

 private:
  // Reads the part of the box that lies in one inner chunk.
  Status read_chunk(const Chunk& chunk, const Shape& chunk_at) {
    if (chunk.nbytes() != layout_.chunk_bytes)
      return failed("blosc2", "an inner chunk is not of the array's chunk size");
    if (!chunk.is_plain() && chunk.blocksize() != layout_.block_bytes) {
      return failed("blosc2", "blocks that are not of the array's block size");
    }
    for (std::size_t d = 0; d < layout_.rank(); ++d) {
      origin_[d] = chunk_at[d] * layout_.chunk_shape[d];
      const std::uint64_t low = std::max(start_[d], origin_[d]) - origin_[d];
      const std::uint64_t high =
          std::min(start_[d] + count_[d], origin_[d] + layout_.chunk_shape[d]) - origin_[d];
      first_block_[d] = low / layout_.block_shape[d];
      last_block_[d] = (high - 1) / layout_.block_shape[d] + 1;
    }
    BlockReader reader(chunk);
    const Temporary plain(chunk.is_plain() ? layout_.block_bytes : 0);
    Shape block_at = first_block_;
    do {
      const auto index = static_cast<std::size_t>(row_major_number(block_at, layout_.block_grid));
      const bool whole_rows = place(block_at);
      if (whole_rows) {
        H5_TRY(read_block(chunk, reader, index, straight_into_out()));
        continue;
      }
      ByteSpan block = plain.bytes();
      if (chunk.is_plain()) {
        H5_TRY(read_block(chunk, reader, index, plain.bytes()));
      } else {
        H5_ASSIGN(block, reader.load(index));
      }
      copy_box(block.data(), {layout_.block_shape, in_block_}, out_.data(), {count_, in_out_}, extent_,
               layout_.item_bytes);
    } while (step_box(block_at, first_block_, last_block_));
    return {};
  }

  Status read_block(const Chunk& chunk, BlockReader& reader, std::size_t index, MutableByteSpan out) const {
    const auto bytes = static_cast<std::size_t>(layout_.block_bytes);
    return chunk.is_plain() ? chunk.read_plain(index * bytes, out) : reader.load_into(index, out);
  }

  // Computes the intersection of a block and the box: its shape extent_, and its start in_block_ in the block
  // and in_out_ in the box. Returns true if the intersection is the whole block and one contiguous run in the
  // box.
  bool place(const Shape& block_at) {
    bool run = true;
    for (std::size_t d = 0; d < layout_.rank(); ++d) {
      const std::uint64_t block = layout_.block_shape[d];
      const std::uint64_t begin = origin_[d] + block_at[d] * block;  // position in the array
      const std::uint64_t chunk_end = origin_[d] + layout_.chunk_shape[d];
      const std::uint64_t low = std::max(start_[d], begin);
      const std::uint64_t high = std::min({start_[d] + count_[d], begin + block, chunk_end});
      extent_[d] = high - low;
      in_block_[d] = low - begin;
      in_out_[d] = low - start_[d];
      run = run && extent_[d] == block && (outermost(d) || extent_[d] == count_[d]);
    }
    return run;
  }

  // True if a block has extent 1 in all dimensions before `d`.
  bool outermost(std::size_t d) const {
    return std::all_of(layout_.block_shape.begin(),
                       layout_.block_shape.begin() + static_cast<std::ptrdiff_t>(d),
                       [](std::uint64_t extent) { return extent == 1; });
  }

  MutableByteSpan straight_into_out() const {
    const std::uint64_t offset = row_major_number(in_out_, count_) * layout_.item_bytes;
    return out_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(layout_.block_bytes));
  }

  const Frame& frame_;
  const NdLayout& layout_;
  Extents start_, count_;
  MutableByteSpan out_;
  Shape first_block_, last_block_, origin_, extent_, in_block_, in_out_;
};

}  // namespace

Result<std::optional<NdArray>> NdArray::open(const Frame& frame, std::uint64_t limit) {
  H5_ASSIGN(std::optional<ByteSpan> metalayer, frame.find_metalayer("b2nd"));
  if (!metalayer) {
    H5_ASSIGN(metalayer, frame.find_metalayer("caterva"));
  }
  if (!metalayer) return std::optional<NdArray>{};
  H5_ASSIGN(NdLayout layout, decode_nd_layout(*metalayer, frame.typesize()));
  if (layout.array_bytes != 0) {
    if (frame.chunksize() != layout.chunk_bytes || frame.chunk_count() != layout.chunk_count) {
      return failed("blosc2", "the frame's chunks are not those of its array");
    }
    if (layout.block_bytes >
        std::max(kBlockBytesPerByte * std::min(limit, std::uint64_t{1} << 40), kMinBlockBytes)) {
      return failed("blosc2", "blocks far larger than the array");
    }
  }
  return std::optional(NdArray(frame, std::move(layout)));
}

Status NdArray::read_box(std::span<const std::uint64_t> start, std::span<const std::uint64_t> count,
                         MutableByteSpan out) const {
  if (out.empty()) return {};
  return BoxReader(frame_, layout_, start, count, out).read();
}

Status NdArray::read_all(MutableByteSpan out) const {
  const Shape zero(layout_.rank());
  return read_box(zero, layout_.shape, out);
}

std::uint64_t NdArray::blocks_of(std::span<const std::uint64_t> start,
                                 std::span<const std::uint64_t> count) const {
  std::uint64_t blocks = 1;
  for (std::size_t d = 0; d < layout_.rank(); ++d) {
    if (count[d] == 0) return 0;
    // `before` counts the blocks before a position; a block never extends beyond its inner chunk.
    const std::uint64_t chunk = layout_.chunk_shape[d];
    const std::uint64_t block = layout_.block_shape[d];
    const auto before = [&](std::uint64_t at) {
      return at / chunk * layout_.block_grid[d] + at % chunk / block;
    };
    blocks *= before(start[d] + count[d] - 1) - before(start[d]) + 1;
  }
  return blocks;
}

std::uint64_t NdArray::block_count() const {
  const Shape zero(layout_.rank());
  return layout_.array_bytes == 0 ? 0 : blocks_of(zero, layout_.shape);
}

}  // namespace h5mount::filter::blosc

#include "nd_layout.h"

#include <optional>

#include "../filters.h"
#include "h5mount/base/checked.h"
#include "msgpack.h"

namespace h5mount::filter::blosc {
namespace {

std::optional<std::vector<std::uint64_t>> read_shape(MsgpackReader& reader, std::size_t rank) {
  reader.read_array_of(rank);
  std::vector<std::uint64_t> shape;
  for (std::size_t d = 0; d < rank && reader.ok(); ++d) {
    const std::int64_t extent = reader.read_integer();
    if (extent < 0) return std::nullopt;
    shape.push_back(static_cast<std::uint64_t>(extent));
  }
  if (!reader.ok()) return std::nullopt;
  return shape;
}

// Returns first * product(shape), or nullopt if that does not fit in 63 bits.
std::optional<std::uint64_t> product(std::uint64_t first, const std::vector<std::uint64_t>& shape) {
  for (const std::uint64_t extent : shape) {
    const auto more = checked_mul(first, extent);
    if (!more || *more >> 63 != 0) return std::nullopt;
    first = *more;
  }
  return first;
}

bool make_grids(NdLayout& layout) {
  for (std::size_t d = 0; d < layout.rank(); ++d) {
    const std::uint64_t chunk = layout.chunk_shape[d];
    const std::uint64_t block = layout.block_shape[d];
    // An array without elements may have chunks or blocks of size 0.
    if (chunk == 0 || block == 0) return layout.array_bytes == 0;
    if (block > chunk) return false;
    layout.chunk_grid.push_back(divide_up(layout.shape[d], chunk));
    layout.block_grid.push_back(divide_up(chunk, block));
  }
  const auto block_bytes = product(layout.item_bytes, layout.block_shape);
  if (!block_bytes) return false;
  const auto chunk_bytes = product(*block_bytes, layout.block_grid);
  const auto chunks = product(1, layout.chunk_grid);
  if (!chunk_bytes || !chunks) return false;
  layout.block_bytes = *block_bytes;
  layout.chunk_bytes = *chunk_bytes;
  layout.chunk_count = *chunks;
  return true;
}

}  // namespace

Result<NdLayout> decode_nd_layout(ByteSpan metalayer, std::size_t item_bytes) {
  MsgpackReader reader(metalayer);
  const std::size_t fields = reader.read_array();
  const std::int64_t version = reader.read_integer();
  const std::int64_t rank = reader.read_integer();
  if (!reader.ok() || fields < 5) return failed("blosc2", "the array's metalayer is damaged");
  if (version != 0) {
    return fail(Error(ErrorCode::UnsupportedFeature, "blosc2: an array metalayer of a later version"));
  }
  if (rank < 0 || static_cast<std::uint64_t>(rank) > kMaxDimensions)
    return failed("blosc2", "the array's rank");
  const auto dimensions = static_cast<std::size_t>(rank);
  auto shape = read_shape(reader, dimensions);
  auto chunk_shape = read_shape(reader, dimensions);
  auto block_shape = read_shape(reader, dimensions);
  if (!shape || !chunk_shape || !block_shape) return failed("blosc2", "the array's metalayer is damaged");
  NdLayout layout;
  layout.shape = *std::move(shape);
  layout.chunk_shape = *std::move(chunk_shape);
  layout.block_shape = *std::move(block_shape);
  layout.item_bytes = item_bytes;
  const auto bytes = product(item_bytes, layout.shape);
  if (!bytes) return failed("blosc2", "the array's shape");
  layout.array_bytes = *bytes;
  if (!make_grids(layout)) return failed("blosc2", "the array's chunk or block shape");
  return layout;
}

}  // namespace h5mount::filter::blosc

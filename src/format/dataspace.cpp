// Dataspace message:
//   version 1: 1 (1) | rank (1) | flags (1) | reserved (5) | sizes (L each) | [maximum sizes (L each)] |
//              [permutation (L each), never used]
//   version 2: 2 (1) | rank (1) | flags (1) | type (1: 0 scalar, 1 simple, 2 null) | sizes (L each) |
//              [maximum sizes (L each)]
//   flags: bit 0 maximum sizes present, bit 1 (version 1) permutation present
//
// L: size of lengths; all ones in a maximum size means unlimited. In version 1 rank 0 is a scalar.
#include "h5mount/format/dataspace.h"

#include "h5mount/base/limits.h"

namespace h5mount::format {

namespace {

void decode_kind(Cursor& cursor, std::uint8_t version, const Field& rank, Dataspace& space) {
  if (version == 1) {
    cursor.skip(5, "reserved");
    space.kind = rank.value == 0 ? DataspaceKind::Scalar : DataspaceKind::Simple;
    return;
  }
  const std::uint8_t type = cursor.u8("type");
  cursor.require(type <= 2, "is reserved");
  space.kind = static_cast<DataspaceKind>(type);
  cursor.require(rank.value == 0 || space.kind == DataspaceKind::Simple, rank, "is not 0");
  // Some writers store a dataspace of rank 0 as simple.
  if (rank.value == 0 && space.kind == DataspaceKind::Simple) space.kind = DataspaceKind::Scalar;
}

}  // namespace

Result<Dataspace> decode_dataspace(Cursor& cursor) {
  Dataspace space;
  const std::uint8_t version = cursor.version(1, 2);
  cursor.u8("rank");
  const Field rank_field = cursor.last();
  cursor.require_at_most(limits::kMaxRank, "above the greatest rank");
  const std::uint8_t flags = cursor.u8("flags");
  decode_kind(cursor, version, rank_field, space);
  const std::size_t rank = cursor.count(rank_field, cursor.sizes().lengths, limits::kMaxRank);
  space.dims.resize(rank);
  for (std::uint64_t& dim : space.dims) dim = cursor.plain_length("dimension_size");
  space.max_dims = space.dims;
  if ((flags & 0x01) == 0) return cursor.finish(std::move(space));
  for (std::size_t i = 0; i < rank; ++i) {
    const std::uint64_t max = cursor.length("maximum_size");
    if (max < space.dims[i])
      space.max_below = cursor.last();
    else
      space.max_dims[i] = max;
  }
  return cursor.finish(std::move(space));
}

}  // namespace h5mount::format

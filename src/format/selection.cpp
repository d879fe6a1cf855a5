// Serialised dataspace selection, versions 1 to 3 of each type:
//   type (4) | version (4) | by type:
//   0 none, 3 all (version 1): unused (8)
//   1 points
//     version 1: unused (4) | length (4) | rank (4) | count (4) | coordinates (4 each)
//     version 2: width w (1) | rank (4) | count (w) | coordinates (w each)
//   2 hyperslab
//     version 1: unused (4) | length (4) | rank (4) | blocks (4) | per block: starts, inclusive ends (4 each)
//     version 2: flags (1) | length (4) | rank (4) | per dimension: start, stride, count, block (8 each)
//     version 3: flags (1) | width w (1) | rank (4) |
//                regular: per dimension start, stride, count, block (w each)
//                else: blocks (w) | per block: starts, inclusive ends (w each)
//   flags: bit 0 regular. `length` is the number of bytes after it; it is redundant and not used.
#include "h5mount/format/selection.h"

#include "h5mount/base/limits.h"

namespace h5mount::format {

namespace {

std::size_t decode_width(Cursor& cursor) {
  const std::uint8_t width = cursor.u8("encoding_width");
  cursor.require(width == 2 || width == 4 || width == 8, "is not 2, 4 or 8");
  return cursor.ok() ? width : 4;
}

void decode_rank(Cursor& cursor, Selection& s) {
  const std::uint32_t rank = cursor.u32("rank");
  cursor.require(rank > 0 && rank <= limits::kMaxRank, "is 0 or above the greatest rank");
  s.rank = cursor.ok() ? rank : 0;
}

void decode_points(Cursor& cursor, Selection& s) {
  std::size_t width = 4;
  if (s.version == 1)
    cursor.skip(8, "unused_and_length");
  else
    width = decode_width(cursor);
  decode_rank(cursor, s);
  cursor.uint(width, "point_count");
  if (!cursor.ok()) return;
  const std::size_t count = cursor.count(s.rank * width, UINT64_MAX);
  s.points.resize(count * s.rank);
  for (std::uint64_t& value : s.points) value = cursor.uint(width, "point_coordinate");
}

void decode_regular(Cursor& cursor, std::size_t width, Selection& s) {
  s.regular = true;
  const std::size_t rank = cursor.count(4 * width, limits::kMaxRank);  // the field read last is `rank`
  for (std::size_t i = 0; i < rank; ++i) {
    s.start.push_back(cursor.uint(width, "start"));
    s.stride.push_back(cursor.uint(width, "stride"));
    const Field stride = cursor.last();
    s.count.push_back(cursor.widened(width, "count"));
    cursor.require(stride.value != 0 || s.count.back() <= 1, stride, "is zero");
    s.block.push_back(cursor.widened(width, "block"));
    cursor.require(s.count.back() <= 1 || s.block.back() <= stride.value, "is longer than the stride");
  }
}

void decode_blocks(Cursor& cursor, std::size_t width, Selection& s) {
  cursor.uint(width, "block_count");
  if (!cursor.ok()) return;
  const std::size_t rank = s.rank;
  const std::size_t count = cursor.count(2 * rank * width, UINT64_MAX);
  s.blocks.resize(count * 2 * rank);
  for (std::size_t block = 0; block < count; ++block) {
    std::uint64_t* const start = s.blocks.data() + block * 2 * rank;
    for (std::size_t i = 0; i < rank; ++i) start[i] = cursor.uint(width, "block_start");
    for (std::size_t i = 0; i < rank; ++i) {
      start[rank + i] = cursor.uint(width, "block_end");
      cursor.require(start[rank + i] >= start[i], "before the block's start");
    }
  }
}

void decode_hyperslab(Cursor& cursor, Selection& s) {
  if (s.version == 1) {
    cursor.skip(8, "unused_and_length");
    decode_rank(cursor, s);
    return decode_blocks(cursor, 4, s);
  }
  const std::uint8_t flags = cursor.u8("flags");
  const bool regular = (flags & 0x01) != 0;
  cursor.require((flags & ~0x01U) == 0, "has unknown bits");
  std::size_t width = 8;
  if (s.version == 2) {
    cursor.require(regular, "version 2 is not regular");
    cursor.skip(4, "length");
  } else {
    width = decode_width(cursor);
  }
  decode_rank(cursor, s);
  if (regular)
    decode_regular(cursor, width, s);
  else
    decode_blocks(cursor, width, s);
}

}  // namespace

Result<Selection> decode_selection(Cursor& cursor) {
  Selection s;
  const std::uint32_t type = cursor.u32("selection_type");
  cursor.require(type <= 3, "is unknown");
  s.kind = static_cast<Selection::Kind>(cursor.ok() ? type : 0);
  const std::uint32_t version = cursor.u32("selection_version");
  const std::uint32_t newest = s.kind == Selection::Kind::Hyperslab ? 3
                               : s.kind == Selection::Kind::Points  ? 2
                                                                    : 1;
  cursor.require(version >= 1 && version <= newest, "is unknown", ErrorCode::UnsupportedVersion);
  s.version = static_cast<std::uint8_t>(version);
  if (!cursor.ok()) return fail(*cursor.error());
  switch (s.kind) {
    case Selection::Kind::None:
    case Selection::Kind::All:
      cursor.skip(8, "unused");
      break;
    case Selection::Kind::Points:
      decode_points(cursor, s);
      break;
    case Selection::Kind::Hyperslab:
      decode_hyperslab(cursor, s);
      break;
  }
  return cursor.finish(std::move(s));
}

}  // namespace h5mount::format

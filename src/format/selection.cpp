// Serialised dataspace selection, versions 1 to 3 of each type:
//   type (4) | version (4) | rest
//   0 none, 3 all (version 1): 8 bytes unused
//   1 points
//     version 1: unused (4) | length (4) | rank (4) | count (4) | coordinates (4 each)
//     version 2: width w (1) | rank (4) | count (w) | coordinates (w each)
//   2 hyperslab
//     version 1: unused (4) | length (4) | rank (4) | blocks (4) | per block: starts, ends inclusive (4 each)
//     version 2: flags (1) | length (4) | rank (4) | per dimension: start, stride, count, block (8 each)
//     version 3: flags (1) | width w (1) | rank (4) |
//                regular: per dimension start, stride, count, block (w each)
//                else: blocks (w) | per block: starts, ends inclusive (w each)
//   flags: bit 0 regular. `length` counts what follows it; the parts say the same, so it is not used.
#include "h5mount/format/selection.h"

#include "h5mount/base/limits.h"

namespace h5mount {

namespace {

std::size_t decode_width(Cursor& cursor) {
  const std::uint8_t width = cursor.u8("encoding_width");
  cursor.require(width == 2 || width == 4 || width == 8, "encoding_width", "is not 2, 4 or 8", width);
  return cursor.ok() ? width : 4;
}

void decode_rank(Cursor& cursor, Selection& s) {
  const std::uint32_t rank = cursor.u32("rank");
  cursor.require(rank > 0 && rank <= limits::kMaxRank, "rank", "is 0 or above the greatest rank", rank);
  s.rank = cursor.ok() ? rank : 0;
}

// `groups` * rank coordinates of `width` bytes.
void decode_coordinates(Cursor& cursor, std::uint64_t groups, std::size_t per_group, std::size_t width,
                        std::string_view field, std::vector<std::uint64_t>& out) {
  if (!cursor.ok()) return;
  const std::size_t count = cursor.count(groups, per_group * width, UINT64_MAX, field);
  out.resize(count * per_group);
  for (std::uint64_t& value : out) value = cursor.uint(width, field);
}

void decode_points(Cursor& cursor, Selection& s) {
  std::size_t width = 4;
  if (s.version == 1)
    cursor.skip(8, "unused_and_length");
  else
    width = decode_width(cursor);
  decode_rank(cursor, s);
  const std::uint64_t count = cursor.uint(width, "point_count");
  decode_coordinates(cursor, count, s.rank, width, "point_coordinates", s.points);
}

void decode_regular(Cursor& cursor, std::size_t width, Selection& s) {
  s.regular = true;
  if (!cursor.ok()) return;
  const std::size_t rank = cursor.count(s.rank, 4 * width, limits::kMaxRank, "rank");
  for (std::size_t i = 0; i < rank; ++i) {
    s.start.push_back(cursor.uint(width, "start"));
    s.stride.push_back(cursor.uint(width, "stride"));
    s.count.push_back(cursor.widened(width, "count"));
    s.block.push_back(cursor.widened(width, "block"));
    cursor.require(s.stride.back() != 0 || s.count.back() <= 1, "stride", "is zero");
    cursor.require(s.count.back() <= 1 || s.block.back() <= s.stride.back(), "block", "is longer than the stride",
                   s.block.back());
  }
}

void decode_blocks(Cursor& cursor, std::size_t width, Selection& s) {
  const std::uint64_t count = cursor.uint(width, "block_count");
  const std::uint64_t at = cursor.here();
  decode_coordinates(cursor, count, 2 * std::size_t{s.rank}, width, "block_coordinates", s.blocks);
  if (!cursor.ok()) return;
  for (std::size_t block = 0; block < s.blocks.size(); block += 2 * std::size_t{s.rank})
    for (std::size_t i = 0; i < s.rank; ++i)
      if (s.blocks[block + i] > s.blocks[block + s.rank + i])
        return cursor.fail(
            Error(ErrorCode::InvalidValue, cursor.structure(), "block_end", at + (block + s.rank + i) * width)
                .with_found(s.blocks[block + s.rank + i])
                .with_detail("before the block's start"));
}

void decode_hyperslab(Cursor& cursor, Selection& s) {
  if (s.version == 1) {
    cursor.skip(8, "unused_and_length");
    decode_rank(cursor, s);
    return decode_blocks(cursor, 4, s);
  }
  const std::uint8_t flags = cursor.u8("flags");
  const bool regular = (flags & 0x01) != 0;
  cursor.require((flags & ~0x01U) == 0, "flags", "has unknown bits", flags);
  std::size_t width = 8;
  if (s.version == 2) {
    cursor.skip(4, "length");
    cursor.require(regular, "flags", "version 2 is not regular", flags);
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
  cursor.require(type <= 3, "selection_type", "is unknown", type);
  s.kind = static_cast<Selection::Kind>(cursor.ok() ? type : 0);
  const std::uint32_t version = cursor.u32("selection_version");
  const std::uint32_t newest = s.kind == Selection::Kind::Hyperslab ? 3 : s.kind == Selection::Kind::Points ? 2 : 1;
  cursor.require(version >= 1 && version <= newest, "selection_version", "is unknown", version,
                 ErrorCode::UnsupportedVersion);
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

}  // namespace h5mount

// Driver information (specification II.B).
//
//   block:    | version 0 | reserved (3) | size (4) | identification (8) | information (size) |
//   message:  | version 0 | identification (8) | size (2) | information (size) |
//   family:   | member size (8) |
//   multi:    | mapping (6 x 1) | reserved (2) | per member: start (8), end (8) |
//             | per member: name, padded to a multiple of 8 |
#include <algorithm>

#include "h5mount/format/superblock.h"

namespace h5mount::format {
namespace {

void decode_multi(Cursor& cursor, DriverInfo& info) {
  std::array<bool, 6> used{};
  for (std::size_t kind = 0; kind < 6; ++kind) {
    const std::uint8_t to = cursor.u8("member_mapping");
    if (!cursor.require(to <= 6, "not 0 to 6")) return;
    info.mapping[kind] = to;
    used[to == 0 ? kind : to - 1U] = true;
  }
  cursor.skip(2, "reserved");
  info.members.resize(static_cast<std::size_t>(std::ranges::count(used, true)));
  for (auto& member : info.members) {
    member.start = cursor.u64("member_address");
    member.end = cursor.u64("member_end");
  }
  for (auto& member : info.members) {
    member.name = cursor.c_string("member_name");
    const std::size_t odd = (member.name.size() + 1) % 8;
    if (odd != 0) cursor.skip(8 - odd, "member_name.padding");
  }
}

void decode_information(Cursor& cursor, DriverInfo& info) {
  if (info.identification == "NCSAfami") info.family_member_size = cursor.u64("member_size");
  if (info.identification == "NCSAmult") decode_multi(cursor, info);
}

}  // namespace

Result<DriverInfo> decode_driver_info_block(Cursor& cursor) {
  DriverInfo info;
  cursor.version(0, 0);
  cursor.skip(3, "reserved");
  cursor.u32("driver_information_size");
  info.identification = as_text(cursor.bytes(8, "driver_identification"));
  decode_information(cursor, info);
  return cursor.finish(std::move(info));
}

Result<std::uint64_t> decode_driver_info_block_bytes(Cursor& cursor) {
  cursor.version(0, 0);
  cursor.skip(3, "reserved");
  return cursor.finish(kDriverInfoHeaderBytes + cursor.u32("driver_information_size"));
}

Result<DriverInfo> decode_driver_info_message(Cursor& cursor) {
  DriverInfo info;
  cursor.version(0, 0);
  info.identification = as_text(cursor.bytes(8, "driver_identification"));
  cursor.u16("driver_information_size");
  decode_information(cursor, info);
  return cursor.finish(std::move(info));
}

}  // namespace h5mount::format

// The superblock (specification II.A), versions 0 to 3, and the messages of its extension.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "h5mount/format/cursor.h"

namespace h5mount::format {

inline constexpr std::string_view kFormatSignature{"\x89HDF\r\n\x1a\n", 8};
inline constexpr std::size_t kMaxSuperblockBytes = 512;  // larger than any version at any size of offsets

// Half the number of keys of version 1 B-tree nodes: from superblocks 0 and 1, else from message 0x13, else
// these defaults.
struct BTreeKValues {
  std::uint16_t group_leaf = 4;
  std::uint16_t group_internal = 16;
  std::uint16_t indexed_storage = 32;
};

struct Superblock {
  std::uint8_t version = 0;
  std::size_t bytes = 0;  // of the superblock itself
  FileSizes sizes;
  BTreeKValues k;
  std::uint32_t status_flags = 0;  // file consistency flags; meaningful in version 3 only
  std::uint64_t base_address = 0;  // as stored; readers use the offset of the superblock instead
  std::uint64_t end_of_file = 0;   // as stored: counted from the beginning of the file that was written
  std::uint64_t driver_info_address = kUndefinedAddress;  // versions 0 and 1
  std::uint64_t extension_address = kUndefinedAddress;    // versions 2 and 3
  std::uint64_t root_address = kUndefinedAddress;         // object header of the root group

  // The end relative to the base address, as all other addresses are. A file that was put behind something
  // else keeps both numbers as they were written.
  std::uint64_t end_from_base() const { return end_of_file < base_address ? 0 : end_of_file - base_address; }
  bool open_for_writing() const { return version >= 3 && (status_flags & 0x01) != 0; }
  bool open_for_swmr_writing() const { return version >= 3 && (status_flags & 0x04) != 0; }
};

// `cursor` begins at the signature. Fails with InvalidValue if sizes of offsets or lengths are not 2, 4, 8,
// 16 or 32.
Result<Superblock> decode_superblock(Cursor& cursor);

// B-tree 'K' values message, IV.A.2.t
Result<BTreeKValues> decode_btree_k_values(Cursor& cursor);

// Driver information: stored as a block by superblock versions 0 and 1, as a message by later ones.
struct DriverInfo {
  std::string identification;  // "NCSAfami", "NCSAmult"
  std::uint64_t family_member_size = 0;
  // Multi: the members, 1 to 6, to which the six kinds of data are mapped (superblock, B-tree, raw, global
  // heap, local heap, object header), and the members in use in that order.
  std::array<std::uint8_t, 6> mapping{};
  struct Member {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::string name;  // "%s-r.h5"
  };
  std::vector<Member> members;
};
Result<DriverInfo> decode_driver_info_block(Cursor& cursor);
// The size of the whole block, given its first kDriverInfoHeaderBytes.
inline constexpr std::uint64_t kDriverInfoHeaderBytes = 16;
Result<std::uint64_t> decode_driver_info_block_bytes(Cursor& cursor);
Result<DriverInfo> decode_driver_info_message(Cursor& cursor);

}  // namespace h5mount::format

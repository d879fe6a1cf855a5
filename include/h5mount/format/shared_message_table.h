// The shared object header message table (specification III.H): locates the messages that several object
// headers share.
#pragma once

#include <cstdint>
#include <vector>

#include "h5mount/format/cursor.h"

namespace h5mount::format {

// Shared message table message (IV.A.2.p)
struct SharedMessageTableMessage {
  std::uint64_t table_address = kUndefinedAddress;
  std::uint8_t index_count = 0;
};
Result<SharedMessageTableMessage> decode_shared_message_table_message(Cursor& cursor);

struct SharedMessageIndex {
  std::uint16_t message_types = 0;  // bit n: message type n (see metadata/shared_messages)
  bool is_tree = false;             // the index is a B-tree (records of type 7), else a list
  std::uint16_t list_capacity = 0;  // records for which a list has space
  std::uint16_t message_count = 0;
  std::uint64_t index_address = kUndefinedAddress;
  std::uint64_t heap_address = kUndefinedAddress;
};

inline std::uint64_t shared_message_table_bytes(std::uint8_t index_count, FileSizes sizes) {
  return 8 + std::uint64_t{index_count} * (14 + std::uint64_t{2} * sizes.offsets);
}
Result<std::vector<SharedMessageIndex>> decode_shared_message_table(Cursor& cursor, std::uint8_t index_count);

// A list of shared messages: the bytes allocated for it, and the bytes of the records in use and their
// checksum, which check_shared_message_list verifies.
std::uint64_t shared_message_list_space(const SharedMessageIndex& index, FileSizes sizes);
std::uint64_t shared_message_list_bytes(const SharedMessageIndex& index, FileSizes sizes);
Status check_shared_message_list(Cursor& cursor);

}  // namespace h5mount::format

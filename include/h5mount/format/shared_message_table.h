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
  std::uint64_t heap_address = kUndefinedAddress;
};

inline std::uint64_t shared_message_table_bytes(std::uint8_t index_count, FileSizes sizes) {
  return 8 + std::uint64_t{index_count} * (14 + std::uint64_t{2} * sizes.offsets);
}
Result<std::vector<SharedMessageIndex>> decode_shared_message_table(Cursor& cursor, std::uint8_t index_count);

}  // namespace h5mount::format

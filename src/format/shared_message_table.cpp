// Shared message table:
//
//   | "SMTB" |
//   per index: | version 0 | kind | message types (2) | minimum size (4) | list cutoff (2) |
//              | B-tree cutoff (2) | message count (2) | index address (O) | heap address (O) |
//   | checksum (4) |
#include "h5mount/format/shared_message_table.h"

namespace h5mount::format {

Result<SharedMessageTableMessage> decode_shared_message_table_message(Cursor& cursor) {
  SharedMessageTableMessage message;
  cursor.version(0, 0);
  message.table_address = cursor.address("table_address");
  message.index_count = cursor.u8("index_count");
  cursor.require(message.index_count >= 1 && message.index_count <= 8, "not 1 to 8");
  return cursor.finish(message);
}

Result<std::vector<SharedMessageIndex>> decode_shared_message_table(Cursor& cursor,
                                                                    std::uint8_t index_count) {
  cursor.signature("SMTB");
  std::vector<SharedMessageIndex> indexes(index_count);
  for (auto& index : indexes) {
    cursor.version(0, 0);
    cursor.require(cursor.u8("index_kind") <= 1, "neither list nor B-tree");
    index.message_types = cursor.u16("message_types");
    cursor.skip(4, "min_message_size");
    cursor.skip(4, "cutoffs");
    cursor.skip(2, "message_count");
    cursor.address("index_address");
    index.heap_address = cursor.address("heap_address");
  }
  cursor.checksum();
  return cursor.finish(std::move(indexes));
}

}  // namespace h5mount::format

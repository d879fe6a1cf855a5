// Shared message table:
//
//   | "SMTB" |
//   per index: | version 0 | kind | message types (2) | minimum size (4) | list cutoff (2) | B-tree cutoff (2) |
//              | message count (2) | index address (O) | heap address (O) |
//   | checksum (4) |
#include "h5mount/format/shared_message_table.h"

namespace h5mount {

Result<SharedMessageTableMessage> decode_shared_message_table_message(Cursor& cursor, FileSizes sizes) {
  SharedMessageTableMessage message;
  cursor.version(0, 0);
  message.table_address = cursor.address(sizes, "table_address");
  message.index_count = cursor.u8("index_count");
  cursor.require(message.index_count >= 1 && message.index_count <= 8, "index_count", "not 1 to 8",
                 message.index_count);
  return cursor.finish(message);
}

Result<std::vector<SharedMessageIndex>> decode_shared_message_table(Cursor& cursor, FileSizes sizes,
                                                                    std::uint8_t index_count) {
  cursor.signature("SMTB");
  std::vector<SharedMessageIndex> indexes(index_count);
  for (auto& index : indexes) {
    cursor.version(0, 0);
    index.kind = cursor.u8("index_kind");
    cursor.require(index.kind <= 1, "index_kind", "neither list nor B-tree", index.kind);
    index.message_types = cursor.u16("message_types");
    index.min_message_bytes = cursor.u32("min_message_size");
    cursor.skip(4, "cutoffs");
    index.message_count = cursor.u16("message_count");
    index.index_address = cursor.address(sizes, "index_address");
    index.heap_address = cursor.address(sizes, "heap_address");
  }
  cursor.checksum();
  return cursor.finish(std::move(indexes));
}

}  // namespace h5mount

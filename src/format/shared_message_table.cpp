// Shared message table:
//
//   | "SMTB" |
//   per index: | version 0 | kind | message types (2) | minimum size (4) | list cutoff (2) |
//              | B-tree cutoff (2) | message count (2) | index address (O) | heap address (O) |
//   | checksum (4) |
//
// List of shared messages:
//
//   | "SMLI" | per record: | kind | hash (4) | in a heap: references (4), heap id (8);
//   |                                          in a header: 4 bytes, address (O); the longer of both |
//   | checksum (4) |
#include "h5mount/format/shared_message_table.h"

#include <algorithm>

namespace h5mount::format {
namespace {

std::uint64_t list_bytes(std::uint64_t records, FileSizes sizes) {
  const std::uint64_t record = 1 + 4 + std::max<std::uint64_t>(4 + 8, 4 + std::uint64_t{sizes.offsets});
  return 4 + records * record + 4;
}

}  // namespace

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
    index.is_tree = cursor.u8("index_kind") != 0;
    cursor.require(cursor.last().value <= 1, "neither list nor B-tree");
    index.message_types = cursor.u16("message_types");
    cursor.skip(4, "min_message_size");
    index.list_capacity = cursor.u16("list_cutoff");
    cursor.skip(2, "tree_cutoff");
    index.message_count = cursor.u16("message_count");
    index.index_address = cursor.address("index_address");
    index.heap_address = cursor.address("heap_address");
  }
  cursor.checksum();
  return cursor.finish(std::move(indexes));
}

std::uint64_t shared_message_list_space(const SharedMessageIndex& index, FileSizes sizes) {
  return list_bytes(index.list_capacity, sizes);
}

std::uint64_t shared_message_list_bytes(const SharedMessageIndex& index, FileSizes sizes) {
  return list_bytes(index.message_count, sizes);
}

Status check_shared_message_list(Cursor& cursor) {
  cursor.signature("SMLI");
  if (cursor.ok() && cursor.remaining() >= 4) cursor.skip(cursor.remaining() - 4, "records");
  cursor.checksum();
  return cursor.finish();
}

}  // namespace h5mount::format

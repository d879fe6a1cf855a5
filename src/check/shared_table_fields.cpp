// The table of shared messages, and its lists and trees.
#include <algorithm>

#include "fields.h"
#include "h5mount/base/checksum.h"
#include "h5mount/format/shared_message_table.h"

namespace h5mount::check {

namespace {

constexpr std::string_view kSharedTable = "SharedMessageTable", kList = "SharedMessageList";
constexpr std::uint8_t kMessageRecord = 7;
// The types that can be shared: dataspace, datatype, fill value, pipeline, attribute.
constexpr std::uint64_t kTypes = 0x182a;

class SharedTableFields {
 public:
  explicit SharedTableFields(const Context& context) : context_(context), sizes_(context.metadata->sizes()) {}

  void check(Fields& table, std::uint8_t count) {
    table.signature();
    std::vector<Index> indexes;
    for (unsigned i = 0; i < count && table.ok(); ++i) indexes.push_back(check_index(table));
    table.checksum();
    for (const Index& index : indexes) check_records(table, index);
  }

 private:
  struct Index {
    bool tree = false;
    std::uint64_t types = 0, address = format::kUndefinedAddress, heap = format::kUndefinedAddress;
    format::SharedMessageIndex decoded;
    format::Field count, least;
  };

  Index check_index(Fields& table) {
    Index index;
    table.u8("version");
    index.tree = table.u8("index_kind") == 1;
    const format::Field kind = table.last();
    index.types = table.u16("message_types");
    table.want((index.types & ~kTypes) == 0, "reserved bits are set");
    table.want((index.types & taken_) == 0, "another index has these messages");
    taken_ |= index.types;
    table.u32("min_message_size");
    index.least = table.last();
    const std::uint64_t most = table.u16("list_cutoff");
    index.decoded.list_capacity = static_cast<std::uint16_t>(most);
    table.u16("tree_cutoff");
    table.want(table.last().value <= most + 1, "is above the most that a list has");
    const std::uint64_t least = table.last().value;
    index.decoded.message_count = table.u16("message_count");
    index.count = table.last();
    if (index.tree)
      table.want(index.count.value >= least, kind, "so few messages are in a list");
    else
      table.want(index.count.value <= most, kind, "so many messages are in a tree");
    index.address = table.address("index_address");
    table.want_stored(1, kBehindEnd);
    index.heap = table.address("heap_address");
    table.want_stored(1, kBehindEnd);
    return index;
  }

  void check_records(Fields& table, const Index& index) {
    if (index.address == format::kUndefinedAddress) return;
    HeapIds ids(context_, index.heap);
    std::uint64_t found = 0;
    const auto record = [&](Fields& one) {
      ++found;
      check_record(one, index, ids);
      if (ids.is_full()) check_hashes(ids, index);
    };
    const std::uint64_t bytes = 1 + 4 + std::max<std::uint64_t>(4 + 8, 4 + std::uint64_t{sizes_.offsets});
    if (index.tree) {
      const Tree2 tree{index.address, kMessageRecord, bytes, "SharedMessageRecord"};
      check_btree2_fields(context_, Places::kRoot, tree, record);
      table.want_equal(found, index.count, "is not the number of records");
    } else {
      check_list(index, bytes, record);
    }
    check_hashes(ids, index);
    table.want(smallest_ >= index.least.value, index.least, "a smaller message is shared");
    smallest_ = ~0ULL;
    if (index.heap != format::kUndefinedAddress)
      check_heap_fields(context_, Places::kRoot, index.heap, &ids.use());
  }

  void check_list(const Index& index, std::uint64_t record_bytes,
                  const std::function<void(Fields&)>& record) {
    const auto block = take_structure(context_, index.address,
                                      format::shared_message_list_bytes(index.decoded, sizes_), kList);
    if (!block) return;
    Fields list(context_, Places::kRoot, block->cursor(kList));
    list.signature();
    for (unsigned i = 0; i < index.decoded.message_count && list.ok(); ++i) {
      Fields one = list.part(record_bytes, "SharedMessageRecord");
      record(one);
      if (one.remaining() > 0) one.bytes(one.remaining(), "unused");
    }
    list.checksum();
  }

  void check_record(Fields& record, const Index& index, HeapIds& ids) {
    const std::uint8_t location = record.u8("location");
    record.want(location <= 1, "is neither the heap nor a header");
    record.u32("hash");
    const format::Field hash = record.last();
    if (location == 1) {
      record.zeros(1, "reserved");
      record.u8("message_type");
      record.want(record.last().value < 16 && (index.types >> record.last().value & 1) != 0,
                  "is not of the index");
      record.u16("creation_index");
      record.address("object_header_address");
      record.want(record.last().value < context_.stored_end, kBehindEnd);
      return;
    }
    record.u32("reference_count");
    record.want(record.last().value > 0, "is zero");
    ids.check_id(record, 8);
    ids.keep(record, hash);
  }

  // The hash begins with the message's type.
  void check_hashes(HeapIds& ids, const Index& index) {
    ids.read_kept(
        [&](Fields& record, const format::Field& hash, bool, const metadata::FractalHeap::Object& object) {
          bool known = false;
          for (std::uint32_t type = 0; type < 16; ++type)
            known = known ||
                    ((index.types >> type & 1) != 0 && lookup3_checksum(object.bytes, type) == hash.value);
          record.want(known, hash, "is not that of the message");
          smallest_ = std::min<std::uint64_t>(smallest_, object.bytes.size());
        });
  }

  const Context& context_;
  const format::FileSizes sizes_;
  std::uint64_t taken_ = 0, smallest_ = ~0ULL;
};

}  // namespace

void check_shared_table_fields(const Context& context, std::uint64_t address, std::uint8_t indexes) {
  const std::uint64_t bytes = format::shared_message_table_bytes(indexes, context.metadata->sizes());
  const auto block = take_structure(context, address, bytes, kSharedTable);
  if (!block) return;
  Fields table(context, Places::kRoot, block->cursor(kSharedTable));
  SharedTableFields(context).check(table, indexes);
}

}  // namespace h5mount::check

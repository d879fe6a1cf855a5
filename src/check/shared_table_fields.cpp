// The table of shared messages, and its lists and trees.
#include <algorithm>

#include "fields.h"
#include "h5mount/base/checksum.h"
#include "h5mount/format/shared_message_table.h"

namespace h5mount::check {

namespace {

constexpr std::string_view kRecord = "SharedMessageRecord";
constexpr std::uint8_t kMessageRecord = 7;
// The types that can be shared: dataspace, datatype, fill value, pipeline, attribute.
constexpr std::uint64_t kTypes = 0x182a;

class SharedTableFields {
 public:
  explicit SharedTableFields(Fields& table) : table_(table) {}

  void check(std::uint64_t count) {
    table_.begin({});
    std::vector<Index> indexes;
    for (unsigned i = 0; i < count && table_.ok(); ++i) indexes.push_back(check_index());
    table_.checksum();
    for (const Index& index : indexes) check_records(index);
  }

 private:
  struct Index {
    bool tree;
    Field types, least, list_capacity, count, address, heap;
  };

  Index check_index() {
    table_.u8("version");
    const Field kind = table_.u8("index_kind"), types = table_.u16("message_types");
    types.want_flags(kTypes);
    types.want((types & taken_) == 0, "another index has these messages");
    taken_ |= types;
    const Field least = table_.u32("min_message_size"), most = table_.u16("list_cutoff");
    const Field tree_most = table_.u16("tree_cutoff"), count = table_.u16("message_count");
    tree_most.want(tree_most <= most + 1, "is above the most that a list has");
    const bool tree = kind == 1;
    kind.want(tree ? count >= tree_most : count <= most,
              tree ? "so few messages are in a list" : "so many messages are in a tree");
    const Field address = table_.address("index_address"), heap = table_.address("heap_address");
    address.want_stored();
    heap.want_stored();
    return {tree, types, least, most, count, address, heap};
  }

  void check_records(const Index& index) {
    if (index.address == format::kUndefinedAddress) return;
    HeapIds ids(table_, index.heap);
    std::uint64_t found = 0, smallest = ~0ULL;
    // The hash begins with the message's type.
    const HeapIds::Visit visit = [&](const Field& hash, bool, const metadata::FractalHeap::Object& object) {
      bool known = false;
      for (std::uint32_t type = 0; type < 16 && !known; ++type)
        known = (index.types >> type & 1) != 0 && lookup3_checksum(object.bytes, type) == hash;
      hash.want(known, "is not that of the message");
      smallest = std::min<std::uint64_t>(smallest, object.bytes.size());
    };
    const auto record = [&](Fields& one) {
      ++found;
      check_record(one, index.types, ids, visit);
    };
    const std::uint64_t bytes = 1 + 4 + std::max<std::uint64_t>(4 + 8, 4U + table_.sizes().offsets);
    if (index.tree) {
      check_btree2_fields(table_, {index.address, kMessageRecord, bytes, kRecord}, record);
      index.count.want_equal(found, "is not the number of records");
    } else {
      check_list(index, bytes, record);
    }
    ids.finish(visit);
    index.least.want(smallest >= index.least, "a smaller message is shared");
    if (index.heap != format::kUndefinedAddress) check_heap_fields(table_, index.heap, ids.use());
  }

  void check_list(const Index& index, std::uint64_t record_bytes,
                  const std::function<void(Fields&)>& record) {
    format::SharedMessageIndex decoded;
    decoded.list_capacity = static_cast<std::uint16_t>(index.list_capacity);
    decoded.message_count = static_cast<std::uint16_t>(index.count);
    auto list = table_.take(index.address, format::shared_message_list_bytes(decoded, table_.sizes()),
                            "SharedMessageList");
    if (!list) return;
    list->begin({});
    for (unsigned i = 0; i < index.count && list->ok(); ++i) {
      Fields one = list->part(record_bytes, kRecord);
      record(one);
      one.rest("unused");
    }
    list->checksum();
  }

  static void check_record(Fields& record, std::uint64_t types, HeapIds& ids, const HeapIds::Visit& visit) {
    const Field location = record.u8("location"), hash = record.u32("hash");
    location.want(location <= 1, "is neither the heap nor a header");
    if (location == 1) {
      record.zeros(1, "reserved");
      const Field type = record.u8("message_type");
      type.want(type < 16 && (types >> type & 1) != 0, "is not of the index");
      record.u16("creation_index");
      record.address("object_header_address").want_defined();
      return;
    }
    record.u32("reference_count").want_not_zero();
    ids.check_id(record, 8);
    ids.look_at(hash, visit);
  }

  Fields& table_;
  std::uint64_t taken_ = 0;
};

}  // namespace

void check_shared_table_fields(const Subject& subject, std::uint64_t address, std::uint64_t indexes) {
  const auto count = static_cast<std::uint8_t>(indexes);
  auto table = subject.take(address, format::shared_message_table_bytes(count, subject.file().sizes()),
                            "SharedMessageTable");
  if (table) SharedTableFields(*table).check(indexes);
}

}  // namespace h5mount::check

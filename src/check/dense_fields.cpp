// Dense links and attributes: the records of their indexes, and the messages in their heaps.
#include "fields.h"
#include "h5mount/base/checksum.h"
#include "h5mount/base/structures.h"

namespace h5mount::check {

namespace {

constexpr std::uint8_t kLinkName = 5, kLinkOrder = 6, kAttributeName = 8, kAttributeOrder = 9;
constexpr std::size_t kLinkId = 7, kAttributeId = 8;
constexpr unsigned kSharedFlag = 0x02;  // a flag of messages
constexpr std::string_view kLink = structures::kLinkMessage, kAttribute = "AttributeMessage";

using Object = metadata::FractalHeap::Object;

// The fields of a message in a heap.
void check_in_heap(const Fields& record, bool plain, const Object& object, std::string_view structure) {
  Fields message(record.context(), record.place(), object.cursor(structure));
  if (!plain) message.is_copy();
  structure == kLink ? check_link_fields(message) : check_attribute_fields(message);
  if (!message.ok() || message.remaining() == 0) return;
  message.bytes(message.remaining(), "trailing_bytes");
  message.want(false, "bytes lie behind the message");
}

std::optional<std::string> link_name(const Object& object) {
  format::Cursor cursor = object.cursor(kLink);
  const auto link = format::decode_link(cursor);
  return link ? std::optional(link->name) : std::nullopt;
}

std::optional<std::string> attribute_name(const Object& object) {
  format::Cursor cursor = object.cursor(kAttribute);
  const auto parts = format::decode_attribute(cursor);
  return parts ? std::optional(parts->name) : std::nullopt;
}

// The records of an index of names: their hashes rise, and are those of the names.
class NameIndex {
 public:
  NameIndex(HeapIds& ids, std::string_view structure) : ids_(ids), structure_(structure) {}

  void take_hash(Fields& record, const format::Field& hash) {
    record.want(hash.value >= last_, hash, "is below that of the record before");
    last_ = hash.value;
  }
  void keep(Fields& record, const format::Field& hash) {
    ids_.keep(record, hash);
    if (ids_.is_full()) finish();
  }
  void finish() {
    ids_.read_kept([&](Fields& record, const format::Field& hash, bool plain, const Object& object) {
      check_in_heap(record, plain, object, structure_);
      const auto name = structure_ == kLink ? link_name(object) : attribute_name(object);
      if (name) record.want_equal(lookup3_checksum(as_bytes(*name)), hash, "is not that of the name");
    });
  }

 private:
  HeapIds& ids_;
  const std::string_view structure_;
  std::uint64_t last_ = 0;
};

void check_link_names(const Context& context, PlaceId place, std::uint64_t index, HeapIds& ids) {
  const Tree2 tree{index, kLinkName, 4 + kLinkId, "LinkNameRecord"};
  NameIndex names(ids, kLink);
  check_btree2_fields(context, place, tree, [&](Fields& record) {
    record.u32("name_hash");
    const format::Field hash = record.last();
    names.take_hash(record, hash);
    ids.check_id(record, kLinkId);
    ids.remember(0);
    names.keep(record, hash);
  });
  names.finish();
}

void check_link_orders(const Context& context, PlaceId place, const format::LinkInfo& info,
                       const HeapIds& names) {
  const Tree2 tree{info.creation_order_index_address, kLinkOrder, 8 + kLinkId, "LinkOrderRecord"};
  HeapIds ids(context, info.fractal_heap_address);
  std::optional<std::uint64_t> before;
  const auto finish = [&] {
    ids.read_kept([](Fields& record, const format::Field& order, bool, const Object& object) {
      format::Cursor cursor = object.cursor(kLink);
      const auto link = format::decode_link(cursor);
      if (link && link->creation_order)
        record.want_equal(static_cast<std::uint64_t>(*link->creation_order), order,
                          "is not that of the link");
    });
  };
  check_btree2_fields(context, place, tree, [&](Fields& record) {
    const std::uint64_t order = record.uint(8, "creation_order");
    const format::Field field = record.last();
    record.want(!before || order > *before, field, "is not above that of the record before");
    before = order;
    ids.check_id(record, kLinkId);
    ids.want_known(record, names, nullptr);
    ids.keep(record, field);
    if (ids.is_full()) finish();
  });
  finish();
}

void check_attribute_names(const Context& context, PlaceId place, const format::AttributeInfo& info,
                           LargestOrder& orders, HeapIds& ids) {
  const Tree2 tree{info.name_index_address, kAttributeName, kAttributeId + 1 + 4 + 4, "AttributeNameRecord"};
  NameIndex names(ids, kAttribute);
  HeapIds elsewhere(context, format::kUndefinedAddress);
  check_btree2_fields(context, place, tree, [&](Fields& record) {
    const ByteSpan all = record.rest();
    const bool shared =
        all.size() > kAttributeId && (std::to_integer<unsigned>(all[kAttributeId]) & kSharedFlag) != 0;
    HeapIds& heap = shared ? elsewhere : ids;
    heap.check_id(record, kAttributeId);
    record.u8("message_flags");
    record.want((record.last().value & 0x80) == 0, "reserved bits are set");
    heap.remember(record.last().value);
    record.u32("creation_order");
    orders.take(record, record.last());
    record.u32("name_hash");
    const format::Field hash = record.last();
    names.take_hash(record, hash);
    if (!shared) names.keep(record, hash);
  });
  names.finish();
}

void check_attribute_orders(const Context& context, PlaceId place, const format::AttributeInfo& info,
                            const HeapIds& names) {
  const Tree2 tree{info.creation_order_index_address, kAttributeOrder, kAttributeId + 1 + 4,
                   "AttributeOrderRecord"};
  HeapIds ids(context, info.fractal_heap_address);
  std::optional<std::uint64_t> before;
  check_btree2_fields(context, place, tree, [&](Fields& record) {
    ids.check_id(record, kAttributeId);
    record.u8("message_flags");
    const format::Field flags = record.last();
    if ((flags.value & kSharedFlag) == 0) ids.want_known(record, names, &flags);
    const std::uint64_t order = record.u32("creation_order");
    record.want(!before || order > *before, "is not above that of the record before");
    before = order;
  });
}

}  // namespace

void check_dense_links_fields(const Context& context, PlaceId place, const format::LinkInfo& info) {
  if (info.fractal_heap_address == format::kUndefinedAddress) return;
  HeapIds ids(context, info.fractal_heap_address);
  check_link_names(context, place, info.name_index_address, ids);
  if (info.creation_order_index_address != format::kUndefinedAddress)
    check_link_orders(context, place, info, ids);
  check_heap_fields(context, place, info.fractal_heap_address, &ids.use());
}

void check_dense_attributes_fields(const Context& context, PlaceId place, const format::AttributeInfo& info,
                                   const std::optional<format::Field>& most) {
  if (info.fractal_heap_address == format::kUndefinedAddress) return;
  HeapIds ids(context, info.fractal_heap_address);
  LargestOrder orders(most);
  check_attribute_names(context, place, info, orders, ids);
  orders.finish();
  if (info.creation_order_index_address != format::kUndefinedAddress)
    check_attribute_orders(context, place, info, ids);
  check_heap_fields(context, place, info.fractal_heap_address, &ids.use());
}

}  // namespace h5mount::check

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

// The records of an index of names: their hashes rise, and are those of the names.
class NameIndex {
 public:
  NameIndex(HeapIds& ids, bool links) : ids_(ids), links_(links) {}

  // `elsewhere`: the message is not in the object's heap.
  void take(const Field& hash, bool elsewhere) {
    hash.want(hash >= last_, "is below that of the record before");
    last_ = hash;
    if (!elsewhere) ids_.look_at(hash, visit_);
  }
  void finish() { ids_.finish(visit_); }

 private:
  void check(const Field& hash, bool plain, const Object& object) const {
    Fields message(hash, object.cursor(links_ ? kLink : kAttribute));
    if (!plain) message.is_copy();
    std::optional<std::string> name;
    if (links_) {
      if (const auto link = message.decoded(format::decode_link)) name = link->name;
      check_link_fields(message);
    } else {
      if (const auto parts = message.decoded(format::decode_attribute)) name = parts->name;
      check_attribute_fields(message);
    }
    if (message.ok() && message.remaining() > 0)
      message.rest("trailing_bytes").want(false, "bytes lie behind the message");
    if (name) hash.want_equal(lookup3_checksum(as_bytes(*name)), "is not that of the name");
  }

  HeapIds& ids_;
  const bool links_;
  const HeapIds::Visit visit_ = [this](const Field& hash, bool plain, const Object& object) {
    check(hash, plain, object);
  };
  std::uint64_t last_ = 0;
};

// A creation order in an index of them; `before`: that of the record before, if there is one.
void want_rising(const Field& order, std::optional<std::uint64_t>& before) {
  order.want(!before || order > *before, "is not above that of the record before");
  before = order;
}

void check_link_names(const Subject& subject, std::uint64_t index, HeapIds& ids) {
  NameIndex names(ids, true);
  check_btree2_fields(subject, {index, kLinkName, 4 + kLinkId, "LinkNameRecord"}, [&](Fields& record) {
    const Field hash = record.u32("name_hash");
    ids.check_id(record, kLinkId);
    ids.remember(0);
    names.take(hash, false);
  });
  names.finish();
}

void check_link_orders(const Subject& subject, const format::LinkInfo& info, const HeapIds& names) {
  HeapIds ids(subject, info.fractal_heap_address);
  std::optional<std::uint64_t> before;
  const HeapIds::Visit compare = [](const Field& order, bool, const Object& object) {
    format::Cursor cursor = object.cursor(kLink);
    const auto link = format::decode_link(cursor);
    if (link && link->creation_order)
      order.want_equal(static_cast<std::uint64_t>(*link->creation_order), "is not that of the link");
  };
  const Tree2 tree{info.creation_order_index_address, kLinkOrder, 8 + kLinkId, "LinkOrderRecord"};
  check_btree2_fields(subject, tree, [&](Fields& record) {
    const Field order = record.uint(8, "creation_order");
    want_rising(order, before);
    ids.check_id(record, kLinkId);
    ids.want_known(names, {});
    ids.look_at(order, compare);
  });
  ids.finish(compare);
}

void check_attribute_names(const Subject& subject, std::uint64_t index, LargestOrder& orders, HeapIds& ids) {
  const Tree2 tree{index, kAttributeName, kAttributeId + 1 + 4 + 4, "AttributeNameRecord"};
  NameIndex names(ids, false);
  HeapIds elsewhere(subject, format::kUndefinedAddress);
  check_btree2_fields(subject, tree, [&](Fields& record) {
    const ByteSpan start = record.next(kAttributeId + 1);
    const bool shared =
        start.size() > kAttributeId && (std::to_integer<unsigned>(start.back()) & kSharedFlag) != 0;
    HeapIds& heap = shared ? elsewhere : ids;
    heap.check_id(record, kAttributeId);
    const Field flags = record.u8("message_flags");
    flags.want_flags(0x7F);
    heap.remember(flags);
    orders.take(record.u32("creation_order"));
    names.take(record.u32("name_hash"), shared);
  });
  names.finish();
}

void check_attribute_orders(const Subject& subject, const format::AttributeInfo& info, const HeapIds& names) {
  HeapIds ids(subject, info.fractal_heap_address);
  std::optional<std::uint64_t> before;
  const Tree2 tree{info.creation_order_index_address, kAttributeOrder, kAttributeId + 1 + 4,
                   "AttributeOrderRecord"};
  check_btree2_fields(subject, tree, [&](Fields& record) {
    ids.check_id(record, kAttributeId);
    const Field flags = record.u8("message_flags");
    if ((flags & kSharedFlag) == 0) ids.want_known(names, flags);
    want_rising(record.u32("creation_order"), before);
  });
}

}  // namespace

void check_dense_links_fields(const Subject& subject, const format::LinkInfo& info) {
  if (info.fractal_heap_address == format::kUndefinedAddress) return;
  HeapIds ids(subject, info.fractal_heap_address);
  check_link_names(subject, info.name_index_address, ids);
  if (info.creation_order_index_address != format::kUndefinedAddress) check_link_orders(subject, info, ids);
  check_heap_fields(subject, info.fractal_heap_address, ids.use());
}

void check_dense_attributes_fields(const Subject& subject, const format::AttributeInfo& info,
                                   const std::optional<Field>& most) {
  if (info.fractal_heap_address == format::kUndefinedAddress) return;
  HeapIds ids(subject, info.fractal_heap_address);
  LargestOrder orders(most);
  check_attribute_names(subject, info.name_index_address, orders, ids);
  orders.finish();
  if (info.creation_order_index_address != format::kUndefinedAddress)
    check_attribute_orders(subject, info, ids);
  check_heap_fields(subject, info.fractal_heap_address, ids.use());
}

}  // namespace h5mount::check

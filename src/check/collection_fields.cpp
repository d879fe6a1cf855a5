// Collections of the global heap.
#include <unordered_set>

#include "fields.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/format/global_heap_format.h"
#include "structures.h"

namespace h5mount::check {

namespace {

constexpr std::string_view kCollection = "GlobalHeapCollection";

// Returns false behind the last object.
bool check_object_of(Fields& collection, std::unordered_set<std::uint64_t>& known) {
  const std::uint64_t header = format::global_heap_header_bytes(collection.sizes());
  const std::uint64_t left = collection.remaining();
  if (left < header) {
    if (left > 0) collection.bytes(left, "unused");
    return false;
  }
  const std::uint16_t index = collection.u16("object.index");
  if (index != 0) collection.want(known.insert(index).second, "another object has this one");
  collection.u16("object.reference_count");
  if (index == 0) collection.want_equal(0, "free space has none");
  collection.zeros(4, "object.reserved");
  const std::uint64_t size = collection.plain_length("object.size");
  const format::Field size_field = collection.last();
  const std::size_t fields = 8 + std::size_t{collection.sizes().lengths};
  if (fields % 8 != 0) collection.bytes(8 - fields % 8, "object.padding");
  const std::uint64_t rest = collection.remaining();
  if (index == 0) {
    collection.want(size == left || size == 0, size_field, "is not that of all that is left");
    if (rest > 0) collection.bytes(rest, "free_space");
    return false;
  }
  const std::uint64_t padded = checked_add(size, 7).value_or(~0ULL) / 8 * 8;
  if (!collection.want(padded <= rest, size_field, "reaches behind the collection")) return false;
  if (size > 0) collection.bytes(size, "object.data");
  if (padded > size) collection.bytes(padded - size, "object.data_padding");
  return true;
}

}  // namespace

void check_collection_fields(const Context& context, std::uint64_t address) {
  constexpr std::uint64_t kLeast = 4096;
  const std::uint64_t start = format::global_heap_header_bytes(context.metadata->sizes());
  const auto head = context.metadata->read_up_to(address, start, kCollection, metadata::Among::Data);
  if (!head || head->bytes().size() < start) return;
  format::Cursor cursor = head->cursor(kCollection);
  const auto bytes = format::decode_global_heap_header(cursor);
  if (!bytes || *bytes > limits::kMaxNodeBytes || !context.structures.enter(address, *bytes)) return;
  const auto block = context.metadata->read_up_to(address, *bytes, kCollection, metadata::Among::Data);
  if (!block) return;
  Fields collection(context, Places::kRoot, block->cursor(kCollection));
  collection.signature();
  collection.u8("version");
  collection.zeros(3, "reserved");
  collection.plain_length("collection_size");
  const format::Field size = collection.last();
  collection.want(size.value >= kLeast && size.value % 8 == 0, "is no size of a collection");
  if (!collection.want(block->bytes().size() == size.value, size, "reaches behind the end of the file"))
    return;
  if (collection.position() < start) collection.bytes(start - collection.position(), "padding");
  std::unordered_set<std::uint64_t> known;
  while (collection.ok() && check_object_of(collection, known)) {
  }
}

}  // namespace h5mount::check

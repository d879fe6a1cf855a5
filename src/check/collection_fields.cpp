// Collections of the global heap.
#include <unordered_set>

#include "fields.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/format/global_heap_format.h"

namespace h5mount::check {

namespace {

constexpr std::string_view kCollection = "GlobalHeapCollection";

// Returns false behind the last object.
bool check_object_of(Fields& collection, std::unordered_set<std::uint64_t>& known) {
  const std::uint64_t left = collection.remaining();
  if (left < format::global_heap_header_bytes(collection.sizes())) {
    collection.rest("unused");
    return false;
  }
  const Field index = collection.u16("object.index");
  if (index != 0) index.want(known.insert(index).second, "another object has this one");
  const Field count = collection.u16("object.reference_count");
  if (index == 0) count.want_equal(0, "free space has none");
  collection.zeros(4, "object.reserved");
  const Field size = collection.plain_length("object.size");
  const std::size_t fields = 8U + collection.sizes().lengths;
  if (fields % 8 != 0) collection.bytes(8 - fields % 8, "object.padding");
  if (index == 0) {
    size.want(size == left || size == 0, "is not that of all that is left");
    collection.rest("free_space");
    return false;
  }
  const std::uint64_t padded = checked_add(size, 7).value_or(~0ULL) / 8 * 8;
  if (!size.want(padded <= collection.remaining(), "reaches behind the collection")) return false;
  collection.bytes(size, "object.data");
  collection.bytes(padded - size, "object.data_padding");
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
  auto block = context.metadata->read_up_to(address, *bytes, kCollection, metadata::Among::Data);
  if (!block) return;
  const std::size_t read = block->bytes().size();
  Fields collection({&context}, *std::move(block), kCollection);
  collection.begin({"version"});
  collection.zeros(3, "reserved");
  const Field size = collection.plain_length("collection_size");
  size.want(size >= kLeast && size % 8 == 0, "is no size of a collection");
  if (!size.want(read == size, kReachesBehindEnd)) return;
  if (collection.position() < start) collection.bytes(start - collection.position(), "padding");
  std::unordered_set<std::uint64_t> known;
  while (collection.ok() && check_object_of(collection, known)) {
  }
}

}  // namespace h5mount::check

#include "h5mount/metadata/global_heap.h"

#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/format/global_heap_format.h"
#include "h5mount/metadata/foreign_heaps.h"
#include "metadata_caches.h"

namespace h5mount::metadata {
namespace {

constexpr std::string_view kGlobalHeapName = "GlobalHeapCollection";
constexpr std::uint64_t kKeptWhole = 1U << 20;

// The header of the object at `position`; `left` is the number of the collection's bytes from `position` on.
Result<format::GlobalHeapObjectHeader> header_at(const FileMetadata& file,
                                                 const GlobalHeapCollection& collection,
                                                 std::uint64_t position, std::uint64_t left) {
  if (collection.whole) {
    format::Cursor cursor = collection.whole->cursor(kGlobalHeapName);
    cursor.seek(static_cast<std::size_t>(position));
    return format::decode_global_heap_object(cursor, left);
  }
  H5_ASSIGN(const MetadataBlock block,
            file.read(collection.address + position, format::global_heap_header_bytes(file.sizes()),
                      kGlobalHeapName));
  format::Cursor cursor = block.cursor(kGlobalHeapName);
  return format::decode_global_heap_object(cursor, left);
}

// The loop ends, as every object has at least a header. Indexes are 16 bits wide, so a collection with more
// objects than that is damaged.
Status find_objects(const FileMetadata& file, GlobalHeapCollection& collection, std::uint64_t size) {
  const std::size_t header_bytes = format::global_heap_header_bytes(file.sizes());
  std::uint64_t position = header_bytes;
  while (size - position >= header_bytes) {
    H5_ASSIGN(const auto header, header_at(file, collection, position, size - position));
    if (header.index == 0) return {};
    const std::uint64_t data = position + header_bytes;
    if (collection.entries.size() > 0xFFFF)
      return fail(Error(ErrorCode::LimitExceeded, kGlobalHeapName, "objects",
                        file.base_address() + collection.address + position)
                      .with_detail("more than 65,536"));
    collection.entries.push_back(
        {.index = header.index, .position = data, .size = header.size, .size_offset = header.size_offset});
    const std::uint64_t padded = divide_up(header.size, 8) * 8;
    if (padded > size - data) return {};
    position = data + padded;
  }
  return {};
}

Result<std::shared_ptr<const GlobalHeapCollection>> load_collection(const FileMetadata& file,
                                                                    std::uint64_t address) {
  H5_ASSIGN(const MetadataBlock head,
            file.read(address, format::global_heap_header_bytes(file.sizes()), kGlobalHeapName, Among::Data));
  format::Cursor cursor = head.cursor(kGlobalHeapName);
  H5_ASSIGN(const std::uint64_t size, format::decode_global_heap_header(cursor));
  auto collection = std::make_shared<GlobalHeapCollection>();
  collection->address = address;
  if (size <= kKeptWhole) {
    // If the file ends within the collection, the objects before that end can still be read one by one.
    if (auto whole = file.read(address, size, kGlobalHeapName, Among::Data))
      collection->whole = std::make_shared<const MetadataBlock>(*std::move(whole));
    else if (whole.error().code() != ErrorCode::Truncated)
      return fail(whole.error());
  }
  if (auto walked = find_objects(file, *collection, size); !walked) collection->damage = walked.error();
  std::ranges::stable_sort(collection->entries, {}, &GlobalHeapCollection::Entry::index);
  return collection;
}

Result<std::shared_ptr<const GlobalHeapCollection>> cached_collection(const FileMetadata& file,
                                                                      std::uint64_t address) {
  MetadataCaches* const caches = file.caches();
  if (caches == nullptr) return load_collection(file, address);
  if (auto found = caches->collections.find(file.number(), address)) return found;
  H5_ASSIGN(auto loaded, load_collection(file, address));
  caches->collections.insert(file.number(), address, loaded, loaded->held_bytes());
  return loaded;
}

Result<GlobalHeapObject> load_object(const FileMetadata& file, std::uint64_t collection_address,
                                     std::uint32_t index) {
  H5_ASSIGN(const auto collection, cached_collection(file, collection_address));
  const auto& entries = collection->entries;
  const auto found =
      std::ranges::lower_bound(entries, index, {}, [](const auto& e) { return std::uint32_t{e.index}; });
  if (index == 0 || found == entries.end() || found->index != index) {
    if (collection->damage) return fail(collection->damage->within(kGlobalHeapName, collection_address));
    return fail(Error(ErrorCode::OutOfRange, kGlobalHeapName, "object.index",
                      file.base_address() + collection_address)
                    .with_found(index)
                    .with_detail("the collection has no such object"));
  }
  if (found->size > limits::kMaxHeapObjectBytes)
    return fail(Error(ErrorCode::LimitExceeded, kGlobalHeapName, "object.size", found->size_offset)
                    .with_found(found->size)
                    .with_expected(limits::kMaxHeapObjectBytes));
  if (collection->whole) {
    const ByteSpan bytes = collection->whole->bytes().subspan(static_cast<std::size_t>(found->position),
                                                              static_cast<std::size_t>(found->size));
    return GlobalHeapObject(collection->whole, bytes);
  }
  if (found->size == 0) return GlobalHeapObject(nullptr, {});
  H5_ASSIGN(auto read,
            file.read(collection_address + found->position, found->size, kGlobalHeapName, Among::Data));
  const auto block = std::make_shared<const MetadataBlock>(std::move(read));
  return GlobalHeapObject(block, block->bytes());
}

}  // namespace

bool is_global_heap_cached(const FileMetadata& file, std::uint64_t collection_address) {
  return file.caches() != nullptr && file.caches()->collections.find(file.number(), collection_address);
}

// A collection has no checksum. In a followed file a collection that lacks the object may have been cached
// before a writer added the object, so it is read once more.
Result<GlobalHeapObject> load_global_heap_object(const FileMetadata& file, std::uint64_t collection_address,
                                                 std::uint32_t index) {
  if (ForeignHeaps::is_foreign(collection_address))
    if (const auto heaps = file.foreign_heaps())
      if (const auto found = heaps->find(collection_address)) return heaps->load(*found, index);
  auto object = load_object(file, collection_address, index);
  if (object || !file.following()) return object;
  const FileMetadataPtr now = file.reread();
  return now ? load_object(*now, collection_address, index) : object;
}

}  // namespace h5mount::metadata

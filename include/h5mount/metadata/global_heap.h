// The global heap (specification III.E): collections of objects, found by {collection address, index}.
#pragma once

#include <cstdint>

#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

// The bytes of one object, shared with the file's bounded cache of decoded collections. Errors: OutOfRange
// for index 0 or one that the collection lacks, and those of decoding.
class GlobalHeapObject {
 public:
  GlobalHeapObject(std::shared_ptr<const void> owner, ByteSpan bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}
  ByteSpan bytes() const { return bytes_; }

 private:
  std::shared_ptr<const void> owner_;
  ByteSpan bytes_;
};

// `collection_address` may also be a place in another file's heap (metadata/foreign_heaps.h).
Result<GlobalHeapObject> load_global_heap_object(const FileMetadata& file, std::uint64_t collection_address,
                                                 std::uint32_t index);

// Whether that collection need not be read, as it is kept decoded.
bool is_global_heap_cached(const FileMetadata& file, std::uint64_t collection_address);

}  // namespace h5mount::metadata

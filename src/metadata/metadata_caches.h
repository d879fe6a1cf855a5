// The caches that this module has of a file for all its snapshots, with its decoded structures, for the
// functions of this module; bounded together with those of all files.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "h5mount/base/shared_cache.h"
#include "h5mount/metadata/object_header.h"
#include "metadata_pages.h"

namespace h5mount::metadata {

// One collection of the global heap and the positions of its objects. The bytes of a small collection are
// kept; objects of a large one are read from the file one by one.
struct GlobalHeapCollection {
  struct Entry {
    std::uint16_t index = 0;
    std::uint64_t position = 0;  // of the object's data, from the collection's start
    std::uint64_t size = 0;
    std::uint64_t size_offset = 0;  // absolute offset of the size field
  };
  std::uint64_t address = 0;
  std::vector<Entry> entries;                  // sorted by index
  std::shared_ptr<const MetadataBlock> whole;  // null: read objects from the file
  std::optional<Error> damage;                 // the error that ended the walk; objects after it are unknown

  std::size_t held_bytes() const {
    return sizeof *this + entries.capacity() * sizeof(Entry) + (whole ? whole->bytes().size() : 0);
  }
};

struct MetadataCaches {
  explicit MetadataCaches(const std::shared_ptr<SharedCache>& memory)
      : collections(memory), shared_headers(memory) {}

  // Cached by snapshot (FileMetadata::number) and address.
  CachePart<GlobalHeapCollection> collections;
  // Headers of committed datatypes and other shared messages: thousands of attributes may share one. Other
  // headers are not cached: a walk of the file needs each once.
  CachePart<ObjectHeader> shared_headers;
  MetadataPages pages;  // of a far file; set when it is opened
};

}  // namespace h5mount::metadata

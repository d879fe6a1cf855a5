// What this module keeps of a file for all its snapshots: the caches of its decoded structures, for the
// functions of this module; bounded together with those of all files.
#pragma once

#include <memory>

#include "global_heap_collection.h"
#include "h5mount/base/shared_cache.h"
#include "h5mount/metadata/object_header.h"
#include "metadata_pages.h"

namespace h5mount::metadata {

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

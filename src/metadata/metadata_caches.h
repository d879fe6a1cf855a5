// What the functions of this room keep per file, bounded in bytes.
#pragma once

#include "global_heap_collection.h"
#include "h5mount/base/lru_cache.h"
#include "h5mount/metadata/object_header.h"

namespace h5mount::metadata {

struct MetadataCaches {
  LruCache<GlobalHeapCollection> collections{8U << 20};
  // Headers of committed datatypes and other shared messages: thousands of attributes may share one. Other
  // headers are not kept: who walks a file asks for each once.
  LruCache<ObjectHeader> shared_headers{1U << 20};
};

}  // namespace h5mount::metadata

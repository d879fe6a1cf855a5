// A file's decoded structures, cached for the functions of this module, bounded in bytes.
#pragma once

#include "global_heap_collection.h"
#include "h5mount/metadata/object_header.h"
#include "snapshot_cache.h"

namespace h5mount::metadata {

struct MetadataCaches {
  SnapshotCache<GlobalHeapCollection> collections{8U << 20};
  // Headers of committed datatypes and other shared messages: thousands of attributes may share one. Other
  // headers are not cached: a walk of the file needs each once.
  SnapshotCache<ObjectHeader> shared_headers{1U << 20};
};

}  // namespace h5mount::metadata

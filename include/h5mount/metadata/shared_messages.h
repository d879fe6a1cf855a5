// Shared object header messages (SOHM, specification III.H): messages that many headers share, kept in
// fractal heaps.
//
// A reader needs neither list nor B-tree of an index: a sharing header holds the heap id itself, and the
// message's type determines the index, hence the heap. A heap is opened at its first use. Threads: any.
#pragma once

#include <memory>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/format/messages.h"
#include "h5mount/format/shared_message_table.h"
#include "h5mount/metadata/file_metadata.h"
#include "h5mount/metadata/fractal_heap.h"

namespace h5mount::metadata {

class SharedMessages {
 public:
  // `file` must outlive the result.
  static Result<std::unique_ptr<SharedMessages>> load(const FileMetadata& file,
                                                      const format::SharedMessageTableMessage& message);
  // The same table, whose heaps are read through `file`, another snapshot of the file.
  std::unique_ptr<SharedMessages> read_through(const FileMetadata& file) const;

  // The body of the shared message `heap_id` (the eight bytes of the sharing message, little-endian). Errors:
  // InvalidValue if no index holds messages of this type, and those of the heap.
  Result<FractalHeap::Object> read(format::MessageType type, std::uint64_t heap_id) const;

  const std::vector<format::SharedMessageIndex>& indexes() const { return indexes_; }

 private:
  SharedMessages(const FileMetadata& file, std::vector<format::SharedMessageIndex> indexes);
  Result<std::shared_ptr<const FractalHeap>> heap(std::size_t index) const;

  const FileMetadata& file_;
  std::vector<format::SharedMessageIndex> indexes_;
  mutable Mutex mutex_;
  mutable std::vector<std::shared_ptr<const FractalHeap>> heaps_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::metadata

// Fractal heaps (specification III.G): managed (direct blocks behind the doubling table, indirect blocks of indirect
// blocks, filtered or not), huge (direct or through a v2 B-tree, filtered or not) and tiny objects.
//
// Reads are lazy: an object costs the indirect blocks on its way (kept in a small bounded cache) and its direct
// block. Threads: const functions from any thread; no lock is held while reading.
#pragma once

#include <memory>
#include <vector>

#include "h5mount/metadata/file_metadata.h"

namespace h5mount {

class FractalHeap {
 public:
  static Result<std::shared_ptr<const FractalHeap>> open(FileMetadataPtr file, std::uint64_t header_address);
  virtual ~FractalHeap() = default;

  virtual std::uint16_t heap_id_length() const = 0;  // bytes

  // The object's bytes and, for messages, the absolute file offset where they lie (of the heap header for tiny and
  // filtered ones). `heap_id` may be longer than heap_id_length.
  struct Object {
    std::vector<std::byte> bytes;
    std::uint64_t file_offset = 0;
  };
  virtual Result<Object> read(ByteSpan heap_id) const = 0;
};

}  // namespace h5mount

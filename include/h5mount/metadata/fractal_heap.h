// Fractal heaps (specification III.G): managed (direct blocks behind the doubling table, indirect blocks of
// indirect blocks, filtered or not), huge (direct or through a v2 B-tree, filtered or not) and tiny objects.
//
// Reads are lazy: an object costs the indirect blocks on its way and its direct block; the last ones are kept
// in a small bounded cache of the heap. A heap that checksums its direct blocks (all that libhdf5 makes for
// links and attributes) has its blocks read whole; of another only the object's own bytes are read. Threads:
// const functions from any thread; no lock is held while reading.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

class FractalHeap {
 public:
  // Nothing but the header is read.
  // `id_length`: that its ids must have, where the user of the heap can read no others.
  static Result<std::shared_ptr<const FractalHeap>> open(
      FileMetadataPtr file, std::uint64_t header_address,
      std::optional<std::uint16_t> id_length = std::nullopt);
  virtual ~FractalHeap() = default;

  virtual std::uint16_t heap_id_length() const = 0;  // bytes

  // The object's bytes, kept alive by `owner` (a block shared with its neighbours: copy what is kept for
  // long), and, for messages, the absolute file offset where they lie (of the heap header for tiny ones, of
  // the stored block for filtered ones).
  struct Object {
    ByteSpan bytes;
    std::uint64_t file_offset = 0;
    format::FileSizes sizes;
    std::shared_ptr<const void> owner;

    format::Cursor cursor(std::string_view structure) const { return {bytes, file_offset, structure, sizes}; }
  };
  // `heap_id` may be longer than heap_id_length, not shorter.
  virtual Result<Object> read(ByteSpan heap_id) const = 0;

  // Many objects, each block read once, in the order in which they lie in the heap: the way to list a whole
  // group or all attributes, whatever order an index has them in. `heap_ids` are packed, heap_id_length bytes
  // each; `index` says which of them it is. An object that cannot be read comes with its error, the others
  // still come. `visit` returns false to stop.
  using Visit = std::function<bool(std::size_t index, const Result<Object>& object)>;
  virtual void read_many(ByteSpan heap_ids, const Visit& visit) const = 0;
};

}  // namespace h5mount::metadata

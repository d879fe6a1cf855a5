// Fractal heaps (specification III.G): managed (direct blocks of the doubling table, indirect blocks of
// indirect blocks, filtered or not), huge (direct or through a v2 B-tree, filtered or not) and tiny objects.
//
// A read of an object costs the indirect blocks above its direct block and that block; a small bounded cache
// of the heap keeps the last ones. Blocks of a heap with checksums in its direct blocks (all heaps that
// libhdf5 writes for links and attributes) are read whole; of other heaps only the object's own bytes are
// read. Threads: const functions from any thread; no lock is held while reading.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "h5mount/format/fractal_heap_blocks.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

class FractalHeap {
 public:
  // Reads only the header. `id_length`: the only length of ids that the caller can use.
  static Result<std::shared_ptr<const FractalHeap>> open(
      FileMetadataPtr file, std::uint64_t header_address,
      std::optional<std::uint16_t> id_length = std::nullopt);
  virtual ~FractalHeap() = default;

  virtual std::uint16_t heap_id_length() const = 0;  // in bytes

  // The object's bytes, kept alive by `owner` (a block shared with its neighbours: copy bytes that are held
  // for long), and, for error messages, their absolute file offset (that of the heap header for tiny objects,
  // of the stored block for filtered ones).
  struct Object {
    ByteSpan bytes;
    std::uint64_t file_offset = 0;
    format::FileSizes sizes;
    std::shared_ptr<const void> owner;

    format::Cursor cursor(std::string_view structure) const { return {bytes, file_offset, structure, sizes}; }
  };
  // `heap_id` may be longer than heap_id_length, but not shorter.
  virtual Result<Object> read(ByteSpan heap_id) const = 0;

  // Reads many objects, each block once, in the order of the heap: for listing a whole group or all
  // attributes, whatever the order of the index. `heap_ids` are packed, heap_id_length bytes each; `index` is
  // the position of an object's id among them. An object that cannot be read is visited with its error; the
  // others are not affected. `visit` returns false to stop.
  using Visit = std::function<bool(std::size_t index, const Result<Object>& object)>;
  virtual void read_many(ByteSpan heap_ids, const Visit& visit) const = 0;
};

// The header alone, as `open` reads it.
Result<format::FractalHeapHeader> load_fractal_heap_header(
    const FileMetadata& file, std::uint64_t address, std::optional<std::uint16_t> id_length = std::nullopt);

}  // namespace h5mount::metadata

// prefetch: announces the structures that a walk is about to read, many at once.
//
// Each structure contains the addresses of the next ones, so a walk of a far source waits once for each of
// them. This function runs ahead of the walk, level by level: it tells the source of all structures of a
// level at once (ByteSource::will_read), then decodes them for the addresses of the next level, with the
// decoders of `format`. A level costs one round trip. The function knows no order, no meaning and no errors:
// a structure that cannot be decoded leads nowhere, and the walk that follows meets its error. For local
// sources prefetch is of no use: ask `ByteSource::far` first.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "h5mount/base/request_budget.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::format {
struct Datatype;
}

namespace h5mount::metadata {

// Tells the file's source that structures at these addresses are about to be read, in whole blocks, as the
// caches read no less; in whole pages where space is paged and these are few.
void will_read_structures(const FileMetadata& file, std::span<const ByteRange> addresses);

// Structures that a walk will read in this order: a far source is told of a window of them ahead of it.
// Threads: one.
class ReadInOrder {
 public:
  ReadInOrder(const FileMetadata& file, std::vector<ByteRange> addresses)
      : file_(file), addresses_(std::move(addresses)) {}
  // The walk is about to read what begins there.
  void reached(std::uint64_t address);

 private:
  const FileMetadata& file_;
  const std::vector<ByteRange> addresses_;
  std::size_t at_ = 0, told_ = 0;
};

enum class Structure : std::uint8_t {
  ObjectHeader,  // with its continuations; so are the next four
  Links,         // a header, and what its links lie in
  ListedObject,  // a header, and what tells the length of a small dataset of text
  Listing,       // both of these
  Object,        // a header, and what its links, its attributes and their values lie in
  GroupTree,     // a version 1 B-tree of a group, with its symbol table nodes
  LocalHeap,     // with its data segment
  FractalHeap,   // with all blocks and huge objects
  BTree2,        // with all nodes
};

struct StructureAt {
  Structure kind;
  std::uint64_t address;  // undefined addresses are left out
};

// `levels`: with 1, only the structures themselves are announced, not those that they lead to. The work is
// bounded by limits of this function, and by `budget`, which is charged for each structure.
void prefetch(const FileMetadata& file, std::span<const StructureAt> first, RequestBudget& budget,
              unsigned levels = 64);

// The same for what the elements refer to in the global heap, as far as it is not cached.
void prefetch_values(const FileMetadata& file, const format::Datatype& type, ByteSpan elements,
                     RequestBudget& budget);

}  // namespace h5mount::metadata

// prefetch: what a walk over structures is about to read, asked for together.
//
// Each structure names the next ones, so a walk of a far source waits once for each of them. This runs ahead
// of it, level by level: it tells the source of all structures of a level at once (ByteSource::will_read),
// then decodes them for the addresses of the next level, with the decoders of `format`. A level costs one
// round trip. It knows no order, no meaning and no errors: what cannot be decoded leads nowhere, and the walk
// that follows meets it. For local sources it is of no use: ask `ByteSource::far` first.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <span>

#include "h5mount/base/request_budget.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

enum class Structure : std::uint8_t {
  ObjectHeader,  // with its continuations
  GroupTree,     // a version 1 B-tree of a group, with its symbol table nodes
  LocalHeap,     // with its data segment
  FractalHeap,   // with all blocks and huge objects
  BTree2,        // with all nodes
};

struct StructureAt {
  Structure kind;
  std::uint64_t address;  // undefined addresses are left out
};

// `levels`: 1 tells of the structures themselves, without what they lead to. Bounded by limits of its own,
// and by `budget`, which is charged for each structure.
void prefetch(const FileMetadata& file, std::span<const StructureAt> first, RequestBudget& budget,
              unsigned levels = 64);

}  // namespace h5mount::metadata

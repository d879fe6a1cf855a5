// Local heaps (specification III.D): the names of an old group's links, and of external data files.
//
// A text is read when it is needed, a few bytes at a time, so that a search in a large group does not read
// all its names; `load` reads the whole segment, for callers that need most of it. The list of free blocks
// distinguishes deleted texts from texts in use. Threads: const functions from any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "h5mount/format/symbol_table.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

class LocalHeap {
 public:
  static Result<LocalHeap> open(FileMetadataPtr file, std::uint64_t address);

  // The text at `offset` of the data segment. Its NUL must be in the segment, and the text at most
  // limits::kMaxLinkNameBytes long. Errors: OutOfRange, Truncated, LimitExceeded, and those of reading.
  Result<std::string> text(std::uint64_t offset) const;

  // The blocks that hold no text, as far as their list can be followed; empty before `load`.
  struct FreeBlock {
    std::uint64_t offset = 0, size = 0;
  };
  std::vector<FreeBlock> free_blocks() const;

  // The absolute file offset of the text at `offset`.
  std::uint64_t file_offset(std::uint64_t offset) const {
    return file_->base_address() + header_.segment_address + offset;
  }

  // Reads the whole segment. If that is impossible (the segment exceeds limits::kMaxNodeBytes or the end of
  // the file), texts are still read one by one.
  void load();

  std::uint64_t segment_size() const { return header_.segment_size; }

 private:
  LocalHeap(FileMetadataPtr file, const format::LocalHeapHeader& header)
      : file_(std::move(file)), header_(header) {}

  FileMetadataPtr file_;
  format::LocalHeapHeader header_;
  std::shared_ptr<const MetadataBlock> segment_;
};

}  // namespace h5mount::metadata

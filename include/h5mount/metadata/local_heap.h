// Local heaps (specification III.D): the names of an old group's links, and of external data files.
//
// Texts are read where they are asked for, a few bytes each, so that a search in a large group does not read
// all its names; `load` brings the whole segment for those who will want most of it. The list of free blocks
// tells deleted texts from living ones. Threads: const functions from any thread.
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

  // The text at `offset` of the data segment. Its NUL must stand within the segment, and the text be no
  // longer than limits::kMaxLinkNameBytes. Errors: OutOfRange, Truncated, LimitExceeded, and what reading
  // finds.
  Result<std::string> text(std::uint64_t offset) const;

  // The blocks that hold no text, as far as the list of them can be followed; none before `load`.
  struct FreeBlock {
    std::uint64_t offset = 0, size = 0;
  };
  std::vector<FreeBlock> free_blocks() const;

  // Where that text stands in the file, absolute.
  std::uint64_t file_offset(std::uint64_t offset) const {
    return file_->base_address() + header_.segment_address + offset;
  }

  // Reads the whole segment. Where that cannot be (it is beyond limits::kMaxNodeBytes, or cut short by the
  // file's end) texts are read one by one as before.
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

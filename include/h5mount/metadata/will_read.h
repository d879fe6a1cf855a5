// Tells a far source which structures are about to be read. Of local ones nothing is told: ask
// FileMetadata::far first.
#pragma once

#include <span>
#include <vector>

#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

// Tells the file's source that structures at these addresses are about to be read, in whole blocks, as the
// caches read no less; in whole pages where space is paged and these are few. `data` are read too, but lie in
// pages of data. Threads: any.
void will_read_structures(const FileMetadata& file, std::span<const ByteRange> addresses,
                          std::span<const ByteRange> data = {});

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
  std::size_t at_ = 0, asked_ = 0;
};

}  // namespace h5mount::metadata

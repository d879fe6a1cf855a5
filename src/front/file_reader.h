// FileReader: an open file of the tree, read in order by ranges.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "h5mount/tree/tree.h"

namespace h5mount::front {

inline constexpr std::uint64_t kReadBytes = 8U << 20;  // of one request: several row blocks

class FileReader {
 public:
  static Result<FileReader> open(const std::shared_ptr<tree::Tree>& tree, tree::NodeId node);

  std::uint64_t size() const { return size_; }  // at the time of opening

  // `kernel_only` pieces are valid only while `take` runs, which must copy them; an error follows if the file
  // was written meanwhile.
  using Taker = std::function<Status(const dataset::Pieces& pieces, std::uint64_t offset)>;
  // Reads all of [begin, end). Fails with Stale if the file is shorter.
  Status read(std::uint64_t begin, std::uint64_t end, const Taker& take);
  Status revalidate() { return file_->revalidate(); }
  // The SHA-256 of all bytes, hexadecimal. `each` (may be null) is called with the number of bytes of each
  // part that was read; an error of it ends the reading.
  Result<std::string> sha256(const std::function<Status(std::uint64_t bytes)>& each = nullptr);
  // The parts that are data, as lseek(2) reports them, ascending and not adjacent; everything between reads
  // as zeros. They start and end at whole pages, or at the end: file systems have no shorter holes, and GNU
  // tar reads each part of a sparse member from a new block. At most `most`: if there are more, short holes
  // count as data.
  Result<std::vector<dataset::ByteRange>> data_extents(std::size_t most);

 private:
  FileReader(std::shared_ptr<tree::Tree> tree, std::shared_ptr<tree::OpenNode> file, std::uint64_t size)
      : tree_(std::move(tree)), file_(std::move(file)), size_(size) {}

  std::shared_ptr<tree::Tree> tree_;
  std::shared_ptr<tree::OpenNode> file_;
  std::uint64_t size_;
};

std::uint64_t total_bytes(const std::vector<dataset::ByteRange>& extents);

}  // namespace h5mount::front

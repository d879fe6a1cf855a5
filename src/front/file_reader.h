// FileReader: an open file of the tree, read in order by ranges.
#pragma once

#include <functional>
#include <memory>

#include "data_extents.h"
#include "h5mount/tree/tree.h"

namespace h5mount::front {

inline constexpr std::uint64_t kReadBytes = 8U << 20;  // of one request: several row blocks

class FileReader {
 public:
  static Result<FileReader> open(const std::shared_ptr<tree::Tree>& tree, tree::NodeId node);

  std::uint64_t size() const { return size_; }  // at the time of opening
  tree::OpenNode& file() { return *file_; }

  // `kernel_only` pieces are valid only while `take` runs, which must copy them; an error follows if the file
  // was written meanwhile.
  using Taker = std::function<Status(const dataset::Pieces& pieces, std::uint64_t offset)>;
  // Reads all of [begin, end). Fails with Stale if the file is shorter.
  Status read(std::uint64_t begin, std::uint64_t end, const Taker& take);
  Status revalidate() { return file_->revalidate(); }

 private:
  FileReader(std::shared_ptr<tree::Tree> tree, std::shared_ptr<tree::OpenNode> file, std::uint64_t size)
      : tree_(std::move(tree)), file_(std::move(file)), size_(size) {}

  std::shared_ptr<tree::Tree> tree_;
  std::shared_ptr<tree::OpenNode> file_;
  std::uint64_t size_;
};

}  // namespace h5mount::front

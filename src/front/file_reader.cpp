#include "file_reader.h"

#include <algorithm>

namespace h5mount::front {

namespace {

// The size of a file whose content is that of the moment when it was opened; a stat may be of a later moment.
Result<std::uint64_t> measured(tree::OpenNode& file) {
  for (std::uint64_t size = 0;;) {
    dataset::Pieces pieces;
    H5_TRY(file.read(size, kReadBytes, pieces));
    if (pieces.total() == 0) return size;
    size += pieces.total();
  }
}

}  // namespace

Result<FileReader> FileReader::open(const std::shared_ptr<tree::Tree>& tree, tree::NodeId node) {
  // Some sizes are known only once the file is open.
  H5_ASSIGN(auto file, tree->open(node));
  H5_ASSIGN(const tree::NodeStat stat, tree->stat(node, tree::StatDepth::Size));
  std::uint64_t size = stat.size;
  if (file->direct()) {
    H5_ASSIGN(size, measured(*file));
  }
  return FileReader(tree, std::move(file), size);
}

Status FileReader::read(std::uint64_t begin, std::uint64_t end, const Taker& take) {
  while (begin < end) {
    dataset::Pieces pieces;
    H5_TRY(file_->read(begin, std::min(kReadBytes, end - begin), pieces));
    if (pieces.total() == 0)
      return fail(Error(ErrorCode::Stale, "the file became shorter while it was read"));
    H5_TRY(take(pieces, begin));
    if (pieces.kernel_only()) H5_TRY(file_->revalidate());
    begin += pieces.total();
  }
  return {};
}

}  // namespace h5mount::front

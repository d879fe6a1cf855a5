#include "file_reader.h"

#include <algorithm>

namespace h5mount::front {

Result<FileReader> FileReader::open(const std::shared_ptr<tree::Tree>& tree, tree::NodeId node) {
  const tree::RequestScope scope(*tree);
  // Some sizes are known only once the file is open.
  H5_ASSIGN(auto file, tree->open(node));
  H5_ASSIGN(const tree::NodeStat stat, tree->stat(node, tree::StatDepth::Size));
  return FileReader(tree, std::move(file), stat.size);
}

Status FileReader::read(std::uint64_t begin, std::uint64_t end, const Taker& take) {
  while (begin < end) {
    const tree::RequestScope scope(*tree_);
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

Result<dataset::Pieces> FileReader::read_start(std::uint64_t most) {
  dataset::Pieces out;
  while (out.total() < most) {
    const tree::RequestScope scope(*tree_);
    dataset::Pieces pieces;
    H5_TRY(file_->read(out.total(), std::min(kReadBytes, most - out.total()), pieces));
    if (pieces.total() == 0) break;
    out.append(std::move(pieces));
  }
  return out;
}

}  // namespace h5mount::front

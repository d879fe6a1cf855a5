#include "file_reader.h"

#include <algorithm>

#include "h5mount/sign/sha256.h"

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

constexpr std::uint64_t kPageBytes = 4096;

// Joins extents with less than `shortest_hole` between them.
void join_over_short_holes(std::vector<dataset::ByteRange>& extents, std::uint64_t shortest_hole) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < extents.size(); ++i) {
    if (extents[i].begin - extents[last].end < shortest_hole)
      extents[last].end = extents[i].end;
    else
      extents[++last] = extents[i];
  }
  if (!extents.empty()) extents.resize(last + 1);
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

Result<std::string> FileReader::sha256(const std::function<Status(std::uint64_t bytes)>& each) {
  sign::Sha256 hash;
  std::vector<std::byte> copied;
  const auto take = [&](const dataset::Pieces& pieces, std::uint64_t) -> Status {
    if (each) H5_TRY(each(pieces.total()));
    if (!pieces.kernel_only()) {
      for (const dataset::Piece& piece : pieces.list()) hash.add(piece.bytes);
      return {};
    }
    copied.resize(static_cast<std::size_t>(pieces.total()));
    H5_TRY(dataset::copy_pieces(pieces.list(), copied));
    hash.add(copied);
    return {};
  };
  H5_TRY(read(0, size_, take));
  return hash.digest();
}

Result<std::vector<dataset::ByteRange>> FileReader::data_extents(std::size_t most) {
  std::vector<dataset::ByteRange> out;
  std::uint64_t shortest_hole = kPageBytes;
  for (std::uint64_t offset = 0; offset < size_;) {
    const auto data = file_->seek_data(offset);
    if (!data && data.error().code() == ErrorCode::NotFound) break;
    if (!data) return fail(data.error());
    if (*data >= size_) break;
    H5_ASSIGN(const std::uint64_t hole, file_->seek_hole(*data));
    if (hole <= *data) return fail(Error(ErrorCode::Stale, "the file changed while it was measured"));
    const std::uint64_t begin = *data - *data % kPageBytes;
    const std::uint64_t end =
        hole < size_ ? std::min(size_, (hole - 1) / kPageBytes * kPageBytes + kPageBytes) : size_;
    if (!out.empty() && begin < out.back().end + shortest_hole)
      out.back().end = end;
    else
      out.push_back({begin, end});
    offset = end;
    while (out.size() > most) {
      shortest_hole *= 2;
      join_over_short_holes(out, shortest_hole);
    }
  }
  return out;
}

std::uint64_t total_bytes(const std::vector<dataset::ByteRange>& extents) {
  std::uint64_t sum = 0;
  for (const dataset::ByteRange& extent : extents) sum += extent.end - extent.begin;
  return sum;
}

}  // namespace h5mount::front

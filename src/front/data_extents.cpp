#include "data_extents.h"

#include <algorithm>

namespace h5mount::front {
namespace {

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

Result<std::vector<dataset::ByteRange>> data_extents(tree::OpenNode& file, std::uint64_t size,
                                                     std::size_t most) {
  std::vector<dataset::ByteRange> out;
  std::uint64_t shortest_hole = kPageBytes;
  for (std::uint64_t offset = 0; offset < size;) {
    const auto data = file.seek_data(offset);
    if (!data && data.error().code() == ErrorCode::NotFound) break;
    if (!data) return fail(data.error());
    if (*data >= size) break;
    H5_ASSIGN(const std::uint64_t hole, file.seek_hole(*data));
    if (hole <= *data) return fail(Error(ErrorCode::Stale, "the file changed while it was measured"));
    const std::uint64_t begin = *data - *data % kPageBytes;
    const std::uint64_t end =
        hole < size ? std::min(size, (hole - 1) / kPageBytes * kPageBytes + kPageBytes) : size;
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

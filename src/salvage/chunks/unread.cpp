// Finds the bytes of a dataset that the source fails to give, or that something else takes up.
#include <algorithm>

#include "chunks.h"
#include "h5mount/base/checked.h"

namespace h5mount::salvage {
namespace {

constexpr std::uint64_t kStepsPerLost = 16;   // for a part that is lost
constexpr std::uint64_t kMaxRead = 1U << 20;  // what is longer is not read as a whole

// Finds the dataset's bytes in parts of one chunk.
class ImageOfChunk {
 public:
  ImageOfChunk(const chunk::ChunkGeometry& geometry, std::uint64_t number)
      : geometry_(geometry), offsets_(offsets_of(geometry, number)) {
    const std::uint64_t inside =
        std::min(geometry_.chunk_dims.back(), geometry_.dims.back() - offsets_.back());
    row_bytes_ = geometry_.chunk_dims.back() * geometry_.element_size;
    row_inside_ = inside * geometry_.element_size;
  }

  // The number of rows that the part touches.
  std::uint64_t rows_of(const Range& part) const {
    return (part.end - 1) / row_bytes_ - part.begin / row_bytes_ + 1;
  }

  // Returns the number of the dataset's bytes in the part; `range` is from the first of them to the last.
  std::uint64_t take(const Range& part, Range& range) const {
    std::uint64_t bytes = 0;
    for (std::uint64_t row = part.begin / row_bytes_; row <= (part.end - 1) / row_bytes_; ++row) {
      const auto place = place_of(row);
      const std::uint64_t at = row * row_bytes_;
      const std::uint64_t begin = std::max(part.begin, at) - at, end = std::min(part.end - at, row_inside_);
      if (!place || begin >= end) continue;
      if (bytes == 0) range.begin = *place + begin;
      range.end = *place + end;
      bytes += end - begin;
    }
    return bytes;
  }

 private:
  // The place of a row of the chunk in the dataset's file; nullopt if it lies behind the dataset's extents.
  std::optional<std::uint64_t> place_of(std::uint64_t row) const {
    std::uint64_t place = 0, stride = geometry_.dims.back();
    for (std::size_t d = offsets_.size() - 1; d-- > 0;) {
      const std::uint64_t at = offsets_[d] + row % geometry_.chunk_dims[d];
      row /= geometry_.chunk_dims[d];
      if (at >= geometry_.dims[d]) return std::nullopt;
      place += at * stride;
      stride *= geometry_.dims[d];
    }
    return (place + offsets_.back()) * geometry_.element_size;
  }

  const chunk::ChunkGeometry& geometry_;
  const std::vector<std::uint64_t> offsets_;
  std::uint64_t row_bytes_ = 0;   // of the chunk along its last dimension
  std::uint64_t row_inside_ = 0;  // of these, those within the dataset's extent
};

}  // namespace

bool is_unread(SalvageState& state, std::uint64_t begin, std::uint64_t bytes) {
  const auto end = checked_add(begin, bytes);
  if (!state.unreadable.touches(begin, end.value_or(~std::uint64_t{0})) || !state.go_on()) return false;
  if (bytes > kMaxRead) return true;
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  return !state.made->read_at(begin, out);
}

std::vector<Range> parts_in(SalvageState& state, const UsedRanges& used, std::uint64_t begin,
                            std::uint64_t end) {
  std::vector<Range> parts;
  if (begin >= end) return parts;
  used.within(begin, end, [&](const Range& range) {
    if (state.spend(kStepsPerLost) || parts.empty())
      parts.push_back({range.begin - begin, range.end - begin});
    else
      parts.back().end = range.end - begin;
  });
  return parts;
}

bool is_stored_plain(const OpenedDataset& dataset, const PlacedChunk& chunk) {
  const std::size_t filters = std::min<std::size_t>(dataset.description.pipeline.filters.size(), 32);
  if (filters == 0) return true;
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - filters);
  return (chunk.record.filter_mask & all) == all || is_plain_at_edge(dataset, chunk.number);
}

UnreadParts unread_parts(SalvageState& state, const chunk::ChunkGeometry& geometry,
                         const PlacedChunk& chunk) {
  const std::uint64_t begin = chunk.record.address, bytes = chunk.record.stored_size;
  UnreadParts out;
  out.parts = parts_in(state, state.unreadable, begin, begin + std::min(bytes, geometry.chunk_bytes));
  const ImageOfChunk image(geometry, chunk.number);
  for (const Range& part : out.parts) {
    if (!state.spend(image.rows_of(part))) {
      out.ranges.push_back(image_of(geometry, chunk.number).range);
      out.bytes += part.end - part.begin;
      continue;
    }
    Range range{};
    const std::uint64_t bytes_of_dataset = image.take(part, range);
    if (bytes_of_dataset > 0) out.ranges.push_back(range);
    out.bytes += bytes_of_dataset;
  }
  return out;
}

ChunkImage image_of(const chunk::ChunkGeometry& geometry, std::uint64_t number) {
  const std::vector<std::uint64_t> offsets = offsets_of(geometry, number);
  std::uint64_t first = 0, last = 0, elements = 1;
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    const std::uint64_t end = std::min(offsets[d] + geometry.chunk_dims[d], geometry.dims[d]);
    first = first * geometry.dims[d] + offsets[d];
    last = last * geometry.dims[d] + end - 1;
    elements *= end - offsets[d];
  }
  return {{first * geometry.element_size, (last + 1) * geometry.element_size},
          elements * geometry.element_size};
}

}  // namespace h5mount::salvage

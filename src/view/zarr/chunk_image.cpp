#include "chunk_image.h"

#include <algorithm>
#include <array>

#include "h5mount/base/checked.h"
#include "h5mount/base/row_major.h"
#include "h5mount/dataset/padded_dataset.h"

namespace h5mount::view {

namespace {

void add_zeros(std::uint64_t length, dataset::Pieces& out) {
  static const std::array<std::byte, 64U << 10> zeros{};
  for (; length > 0; length -= std::min<std::uint64_t>(length, zeros.size()))
    out.add(ByteSpan(zeros).first(static_cast<std::size_t>(std::min<std::uint64_t>(length, zeros.size()))),
            nullptr);
}

// See ChunkImage::stored_number. `end`: of the box within the array's extent.
std::optional<std::uint64_t> number_among_stored(std::span<const std::uint64_t> stored_dims,
                                                 std::span<const std::uint64_t> chunk,
                                                 std::span<const std::uint64_t> origin,
                                                 std::span<const std::uint64_t> end) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    if (end[i] > stored_dims[i]) return std::nullopt;
    number = number * divide_up(stored_dims[i], chunk[i]) + origin[i] / chunk[i];
  }
  return number;
}

}  // namespace

DatasetReaderPtr without_padding(const DatasetReaderPtr& dataset) {
  const auto* const padded = dynamic_cast<const dataset::PaddedDataset*>(dataset.get());
  return padded != nullptr ? padded->dataset() : dataset;
}

object::DatasetDescription ChunkImage::describe(const object::DatasetDescription& dataset,
                                                const ZarrArray& array) {
  object::DatasetDescription out;
  out.address = dataset.address;
  out.type = dataset.type;
  out.element_size = dataset.element_size;
  out.space.kind = format::DataspaceKind::Simple;
  out.space.dims = out.space.max_dims = array.chunk_shape();
  out.image_bytes = dataset.element_size;
  for (const std::uint64_t extent : array.chunk_shape()) out.image_bytes *= extent;
  return out;
}

ChunkImage::ChunkImage(DatasetReaderPtr dataset, const ZarrArray& array, std::uint64_t number)
    : DatasetReader(describe(dataset->description(), array)),
      dataset_(std::move(dataset)),
      stored_(without_padding(dataset_)),
      element_size_(dataset_->description().element_size),
      dims_(array.shape()),
      chunk_(array.chunk_shape()),
      origin_(array.shape().size()) {
  row_major_place(number, array.grid(), origin_);
  std::vector<std::uint64_t> end;
  for (std::size_t i = 0; i < origin_.size(); ++i) {
    origin_[i] *= chunk_[i];
    extent_.push_back(std::min(chunk_[i], dims_[i] - origin_[i]));
    end.push_back(origin_[i] + extent_[i]);
  }
  stored_number_ = number_among_stored(stored_->description().space.dims, chunk_, origin_, end);
  for (std::size_t i = 0; i < origin_.size(); ++i)
    all_padding_ = all_padding_ || origin_[i] >= stored_->description().space.dims[i];
  const format::DataLayout& layout = dataset_->description().layout;
  whole_ = layout.cls == format::LayoutClass::Chunked && layout.chunk_dims == chunk_ && extent_ == chunk_ &&
           stored_number_;
  while (dims_.size() > 1 && chunk_.back() == dims_.back()) {
    const std::uint64_t factor = dims_.back();
    for (auto* part : {&dims_, &chunk_, &origin_, &extent_}) {
      part->pop_back();
      part->back() *= factor;
    }
  }
  if (dims_.empty()) dims_ = chunk_ = extent_ = {1}, origin_ = {0};
  row_bytes_ = chunk_.back() * element_size_;
  rows_ = size() / row_bytes_;
}

std::optional<dataset::ByteRange> ChunkImage::image_range() const {
  if (rows_ != 1) return std::nullopt;
  const std::uint64_t begin = row_major_number(origin_, dims_) * element_size_;
  return dataset::ByteRange{begin, begin + extent_.back() * element_size_};
}

Status ChunkImage::read(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess access,
                        dataset::Pieces& out) const {
  if (offset >= size()) return {};
  length = std::min(length, size() - offset);
  if (whole_) return stored_->read_chunk(*stored_number_, offset, length, out, access.budget);
  if (rows_ == 1) return read_run(offset, length, access, out);
  const auto block = std::make_shared<cache::Block>(static_cast<std::size_t>(length));
  H5_TRY(read_rows(offset, block->bytes(), access.budget));
  out.add(block->bytes(), block);
  return {};
}

// For a box that is one row: a run of the image, and padding.
Status ChunkImage::read_run(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess access,
                            dataset::Pieces& out) const {
  const std::uint64_t filled = extent_.back() * element_size_;
  if (offset < filled) {
    const std::uint64_t part = std::min(length, filled - offset);
    const std::uint64_t begin = row_major_number(origin_, dims_) * element_size_;
    H5_TRY(dataset_->read(begin + offset, part, access, out));
    length -= part;
  }
  add_zeros(length, out);
  return {};
}

Status ChunkImage::read_rows(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const {
  const std::size_t last = dims_.size() - 1;
  const std::uint64_t filled = extent_.back() * element_size_;
  std::vector<std::uint64_t> at(dims_.size());
  while (!out.empty()) {
    row_major_place(offset / row_bytes_, std::span(chunk_).first(last), at);
    bool inside = true;
    for (std::size_t i = 0; i < last; ++i) {
      inside = inside && at[i] < extent_[i];
      at[i] += origin_[i];
    }
    at[last] = origin_[last];
    const std::uint64_t within = offset % row_bytes_;
    const MutableByteSpan row =
        out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), row_bytes_ - within)));
    const auto part = static_cast<std::size_t>(
        inside && within < filled ? std::min<std::uint64_t>(row.size(), filled - within) : 0);
    if (part > 0)
      H5_TRY(
          dataset_->read_into(row_major_number(at, dims_) * element_size_ + within, row.first(part), budget));
    std::ranges::fill(row.subspan(part), std::byte{0});
    out = out.subspan(row.size());
    offset += row.size();
  }
  return {};
}

Status ChunkImage::read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const {
  dataset::Pieces pieces;
  H5_TRY(read(offset, out.size(), {nullptr, budget}, pieces));
  return dataset::copy_pieces(pieces.list(), out);
}

// Everything, unless the box has the same place in an image with rows of the same length, and nothing between
// its first and its last element is stale.
std::vector<dataset::ByteRange> ChunkImage::stale_since(const ChunkImage& before,
                                                        std::span<const dataset::ByteRange> stale) const {
  const bool stays = before.origin_ == origin_ && before.chunk_ == chunk_ && before.extent_ == extent_ &&
                     std::ranges::equal(std::span(before.dims_).subspan(1), std::span(dims_).subspan(1));
  std::vector<std::uint64_t> last = origin_;
  for (std::size_t i = 0; i < last.size(); ++i) last[i] += extent_[i] - 1;
  const std::uint64_t begin = row_major_number(origin_, dims_) * element_size_;
  const std::uint64_t end = (row_major_number(last, dims_) + 1) * element_size_;
  const auto overlaps = [&](const auto& range) { return range.begin < end && range.end > begin; };
  if (stays && std::ranges::none_of(stale, overlaps)) return {};
  return {dataset::kWholeImage};
}

}  // namespace h5mount::view

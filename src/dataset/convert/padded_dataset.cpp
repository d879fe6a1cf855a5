#include "h5mount/dataset/padded_dataset.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "h5mount/base/checked.h"
#include "h5mount/base/row_major.h"

namespace h5mount::dataset {

Result<object::DatasetDescription> PaddedDataset::describe(const object::DatasetDescription& dataset,
                                                           std::vector<std::uint64_t> dims) {
  object::DatasetDescription out = dataset;
  std::optional<std::uint64_t> bytes = dataset.element_size;
  for (std::size_t i = 0; i < dims.size() && bytes; ++i) {
    bytes = checked_mul(*bytes, dims[i]);
    if (i < out.space.max_dims.size()) out.space.max_dims[i] = std::max(out.space.max_dims[i], dims[i]);
  }
  if (!bytes || *bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return fail({ErrorCode::TooLarge, "a dimension so long that a variable has more bytes than a file can"});
  out.space.dims = std::move(dims);
  out.image_bytes = *bytes;
  return out;
}

PaddedDataset::PaddedDataset(DatasetReaderPtr dataset, object::DatasetDescription padded,
                             std::vector<std::byte> element)
    : DatasetReader(std::move(padded)),
      dataset_(std::move(dataset)),
      element_(std::move(element)),
      own_(dataset_->description().space.dims),
      dims_(description().space.dims) {
  while (dims_.size() > 1 && own_.back() == dims_.back()) {
    const std::uint64_t factor = dims_.back();
    for (auto* const part : {&own_, &dims_}) {
      part->pop_back();
      part->back() *= factor;
    }
  }
  if (dims_.empty()) own_ = dims_ = {1};
}

Status PaddedDataset::read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const {
  const bool begins_with_own = dims_.size() == 1 && offset < dataset_->size();
  if (begins_with_own && offset + length <= dataset_->size())
    return dataset_->read(offset, length, access, out);
  return DatasetReader::read(offset, length, access, out);
}

Status PaddedDataset::read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const {
  constexpr std::uint64_t kStepsPerRow = 32;
  const std::size_t last = dims_.size() - 1;
  const std::uint64_t row_bytes = dims_.back() * element_.size(), own_bytes = own_.back() * element_.size();
  std::vector<std::uint64_t> at(dims_.size());
  while (!out.empty()) {
    H5_TRY(budget.spend(kStepsPerRow));
    row_major_place(offset / row_bytes, std::span(dims_).first(last), at);
    if (at[0] >= own_[0]) {  // the same is true of all rows behind it
      pad(offset, out);
      return {};
    }
    const std::uint64_t within = offset % row_bytes;
    const MutableByteSpan row =
        out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), row_bytes - within)));
    bool inside = within < own_bytes;
    for (std::size_t i = 0; i < last; ++i) inside = inside && at[i] < own_[i];
    const auto part =
        static_cast<std::size_t>(inside ? std::min<std::uint64_t>(row.size(), own_bytes - within) : 0);
    at[last] = 0;
    if (part > 0)
      H5_TRY(dataset_->read_into(row_major_number(at, own_) * element_.size() + within, row.first(part),
                                 budget));
    pad(offset + part, row.subspan(part));
    out = out.subspan(row.size());
    offset += row.size();
  }
  return {};
}

// Copies of the element from the byte on that is at `offset` of the image.
void PaddedDataset::pad(std::uint64_t offset, MutableByteSpan out) const {
  const auto skip = static_cast<std::size_t>(offset % element_.size());
  std::size_t made = std::min(out.size(), element_.size());
  for (std::size_t i = 0; i < made; ++i) out[i] = element_[(skip + i) % element_.size()];
  while (made > 0 && made < out.size()) {
    const std::size_t some = std::min(made, out.size() - made);
    std::memcpy(out.data() + made, out.data(), some);
    made += some;
  }
}

}  // namespace h5mount::dataset

#include "h5mount/meaning/elements.h"

#include <fmt/format.h>

#include <limits>

#include "h5mount/base/checked.h"
#include "h5mount/dataset/converted_dataset.h"
#include "h5mount/dataset/dataset_part.h"
#include "h5mount/dataset/readers_over.h"

namespace h5mount::meaning {

namespace {

using dataset::ByteRange;
using dataset::DatasetReader;
using dataset::DatasetReaderPtr;
using object::DatasetDescription;

class EachReader final : public dataset::UnitsReader {
 public:
  EachReader(DatasetDescription shown, DatasetReaderPtr base, std::uint64_t stored, ElementsPtr elements)
      : UnitsReader(shown, std::move(base), stored, shown.element_size), elements_(std::move(elements)) {}

 private:
  Status make(ByteSpan stored, MutableByteSpan shown) const override {
    elements_->decode(stored, shown, nullptr);
    return {};
  }

  const ElementsPtr elements_;
};

class RowsReader final : public dataset::UnitsReader {
 public:
  RowsReader(DatasetDescription shown, DatasetReaderPtr base, std::uint64_t stored, std::size_t cells,
             ElementsPtr elements)
      : UnitsReader(shown, std::move(base), stored * cells, shown.element_size),
        stored_row_(static_cast<std::size_t>(stored) * cells),
        shown_row_(static_cast<std::size_t>(shown.element_size)),
        cells_(cells),
        elements_(std::move(elements)) {}

 private:
  Status make(ByteSpan stored, MutableByteSpan shown) const override {
    for (; !stored.empty(); stored = stored.subspan(stored_row_), shown = shown.subspan(shown_row_))
      elements_->decode(stored.first(stored_row_), shown.first(shown_row_ - cells_),
                        shown.data() + shown_row_ - cells_);
    return {};
  }

  const std::size_t stored_row_, shown_row_, cells_;
  const ElementsPtr elements_;
};

class ElementsDerivation : public dataset::Derivation {
 public:
  ElementsDerivation(ElementsPtr elements, format::DatatypePtr type, std::uint64_t stored_bytes)
      : elements_(std::move(elements)), type_(std::move(type)), stored_(stored_bytes) {}

  std::vector<ByteRange> stale_since(const DatasetReader& part, const DatasetReader& before,
                                     std::span<const ByteRange> stale) const override {
    const auto* const now = dynamic_cast<const dataset::UnitsReader*>(&part);
    const bool same_units = part.description().element_size == before.description().element_size;
    return now != nullptr && same_units ? now->stale(stale) : std::vector{dataset::kWholeImage};
  }

 protected:
  // The attributes are of a dataset with this type.
  Status check(const DatasetDescription& dataset) const {
    if (dataset.element_size == stored_) return {};
    return fail({ErrorCode::Stale, "a dataset of another type than its attributes are of"});
  }

  const ElementsPtr elements_;
  const format::DatatypePtr type_;
  const std::uint64_t stored_;
};

class EachDerivation final : public ElementsDerivation {
 public:
  using ElementsDerivation::ElementsDerivation;

  Result<DatasetDescription> describe(const DatasetDescription& dataset) const override {
    H5_TRY(check(dataset));
    return described_as(dataset, type_, 1);
  }
  Result<DatasetReaderPtr> open(DatasetReaderPtr dataset) const override {
    H5_ASSIGN(DatasetDescription shown, describe(dataset->description()));
    return std::make_shared<const EachReader>(std::move(shown), std::move(dataset), stored_, elements_);
  }
};

class RowsDerivation final : public ElementsDerivation {
 public:
  using ElementsDerivation::ElementsDerivation;

  Result<DatasetDescription> describe(const DatasetDescription& dataset) const override {
    H5_TRY(check(dataset));
    const std::size_t cells = cells_of(dataset);
    auto row = std::make_shared<format::Datatype>();
    row->cls = format::DatatypeClass::Compound;
    const std::uint64_t bytes = cells * (type_->size + 1ULL);
    if (cells == 0 || bytes > std::numeric_limits<std::uint32_t>::max())
      return fail({ErrorCode::UnsupportedFeature, "rows without cells, or with too many"});
    row->size = static_cast<std::uint32_t>(bytes);
    const bool one = dataset.space.dims.size() < 2;
    std::vector<std::optional<std::size_t>> masks;
    const format::DatatypePtr mask = dataset::integer_type(1, false, format::ByteOrder::Little);
    for (std::size_t i = 0; i < cells; ++i) {
      row->members.push_back(
          {one ? "value" : fmt::format("{}", i), static_cast<std::uint32_t>(i * type_->size), type_});
      masks.emplace_back(cells + i);
    }
    for (std::size_t i = 0; i < cells; ++i)
      row->members.push_back(
          {fmt::format("mask {}", i), static_cast<std::uint32_t>(cells * type_->size + i), mask});
    H5_ASSIGN(DatasetDescription out, described_as(dataset, std::move(row), cells));
    out.side_by_side = true;
    out.masks = std::move(masks);
    out.space.dims.resize(1);
    out.space.max_dims.resize(1);
    return out;
  }
  Result<DatasetReaderPtr> open(DatasetReaderPtr dataset) const override {
    H5_ASSIGN(DatasetDescription shown, describe(dataset->description()));
    const std::size_t cells = cells_of(dataset->description());
    return std::make_shared<const RowsReader>(std::move(shown), std::move(dataset), stored_, cells,
                                              elements_);
  }

 private:
  static std::size_t cells_of(const DatasetDescription& dataset) {
    const auto& dims = dataset.space.dims;
    return dims.size() == 2 ? static_cast<std::size_t>(dims[1]) : 1;
  }
};

}  // namespace

// What an element means may take more bytes than the element.
Result<DatasetDescription> described_as(const DatasetDescription& dataset, format::DatatypePtr type,
                                        std::uint64_t elements_in_one) {
  constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int64_t>::max();
  const std::uint64_t bytes = type->size;
  dataset::DatasetPart part = dataset::whole_dataset(dataset);
  part.type = std::move(type);
  DatasetDescription out = dataset::describe_part(dataset, part);
  out.element_size = bytes;
  const auto image = checked_mul(dataset.image_bytes / (dataset.element_size * elements_in_one), bytes);
  if (!image || *image > kMostBytes) return fail({ErrorCode::TooLarge, "larger than a file can be"});
  out.image_bytes = *image;
  return out;
}

dataset::DerivationPtr derive_elements(ElementsPtr elements, format::DatatypePtr type,
                                       std::uint64_t stored_bytes) {
  return std::make_shared<const EachDerivation>(std::move(elements), std::move(type), stored_bytes);
}

dataset::DerivationPtr derive_rows(ElementsPtr elements, format::DatatypePtr type,
                                   std::uint64_t stored_bytes) {
  return std::make_shared<const RowsDerivation>(std::move(elements), std::move(type), stored_bytes);
}

}  // namespace h5mount::meaning

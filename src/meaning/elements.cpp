#include "elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "h5mount/base/checked.h"
#include "h5mount/cache/block_cache.h"
#include "h5mount/dataset/converted_dataset.h"
#include "h5mount/dataset/dataset_part.h"

namespace h5mount::meaning {

namespace {

using dataset::ByteRange;
using dataset::DatasetReader;
using dataset::DatasetReaderPtr;
using object::DatasetDescription;

constexpr std::uint64_t kStepsPerByte = 4;

DatasetDescription described_as(const DatasetDescription& dataset, format::DatatypePtr type) {
  dataset::DatasetPart part = dataset::whole_dataset(dataset);
  part.type = std::move(type);
  return dataset::describe_part(dataset, part);
}

// Reads whole units of `shown` bytes each, which are made of `stored` bytes each of the dataset.
class UnitsReader : public DatasetReader {
 public:
  UnitsReader(DatasetDescription shown, DatasetReaderPtr base, std::uint64_t stored_bytes,
              std::uint64_t shown_bytes)
      : DatasetReader(std::move(shown)), base_(std::move(base)), stored_(stored_bytes), shown_(shown_bytes) {}

  Status read(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess access,
              dataset::Pieces& out) const override {
    if (offset >= size() || length == 0) return {};
    length = std::min(length, size() - offset);
    auto block = std::make_shared<cache::Block>(static_cast<std::size_t>(length));
    H5_TRY(fill(offset, block->bytes(), access));
    out.add(block->bytes(), block);
    return {};
  }
  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const override {
    return out.empty() ? Status() : fill(offset, out, {nullptr, budget});
  }

  Result<dataset::WrittenRun> written_run(std::uint64_t offset, RequestBudget& budget) const override {
    const std::uint64_t unit = offset / shown_;
    H5_ASSIGN(const dataset::WrittenRun run, base_->written_run(unit * stored_, budget));
    const std::uint64_t end = run.written ? divide_up(run.end, stored_) : run.end / stored_;
    if (end > unit) return dataset::WrittenRun{end * shown_, run.written};
    return dataset::WrittenRun{(unit + 1) * shown_, true};
  }
  bool sources_changed() const override { return base_->sources_changed(); }
  std::optional<Error> problem() const override { return base_->problem(); }
  dataset::MissingSources missing_sources() const override { return base_->missing_sources(); }

  std::vector<ByteRange> stale(std::span<const ByteRange> of_base) const {
    std::vector<ByteRange> out;
    for (const ByteRange& range : of_base)
      out.push_back({checked_mul(range.begin / stored_, shown_).value_or(format::kUnlimited),
                     checked_mul(divide_up(range.end, stored_), shown_).value_or(format::kUnlimited)});
    return out;
  }

 protected:
  virtual void make(ByteSpan stored, MutableByteSpan shown) const = 0;

 private:
  // Makes the units that the range touches, even if those at its ends are needed only in part.
  Status fill(std::uint64_t offset, MutableByteSpan out, dataset::ReadAccess access) const {
    H5_TRY(check_inside(offset, out.size()));
    const std::uint64_t first = offset / shown_, end = (offset + out.size() - 1) / shown_ + 1;
    const auto count = static_cast<std::size_t>(end - first);
    std::vector<std::byte> stored(count * static_cast<std::size_t>(stored_));
    H5_TRY(access.budget.spend(kStepsPerByte * stored.size()));
    dataset::Pieces pieces;
    H5_TRY(base_->read(first * stored_, stored.size(), access, pieces));
    if (pieces.total() != stored.size()) return fail({ErrorCode::Stale, "the dataset became shorter"});
    H5_TRY(dataset::copy_pieces(pieces.list(), stored));
    if (out.size() == count * shown_) {
      make(stored, out);
      return {};
    }
    std::vector<std::byte> whole(count * static_cast<std::size_t>(shown_));
    make(stored, whole);
    std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(offset % shown_), out.size(), out.begin());
    return {};
  }

  const DatasetReaderPtr base_;
  const std::uint64_t stored_, shown_;
};

class EachReader final : public UnitsReader {
 public:
  EachReader(DatasetDescription shown, DatasetReaderPtr base, std::uint64_t stored, ElementsPtr elements)
      : UnitsReader(shown, std::move(base), stored, shown.element_size), elements_(std::move(elements)) {}

 private:
  void make(ByteSpan stored, MutableByteSpan shown) const override {
    elements_->decode(stored, shown, nullptr);
  }

  const ElementsPtr elements_;
};

class RowsReader final : public UnitsReader {
 public:
  RowsReader(DatasetDescription shown, DatasetReaderPtr base, std::uint64_t stored, std::size_t cells,
             ElementsPtr elements)
      : UnitsReader(shown, std::move(base), stored * cells, shown.element_size),
        stored_row_(static_cast<std::size_t>(stored) * cells),
        shown_row_(static_cast<std::size_t>(shown.element_size)),
        cells_(cells),
        elements_(std::move(elements)) {}

 private:
  void make(ByteSpan stored, MutableByteSpan shown) const override {
    for (; !stored.empty(); stored = stored.subspan(stored_row_), shown = shown.subspan(shown_row_))
      elements_->decode(stored.first(stored_row_), shown.first(shown_row_ - cells_),
                        shown.data() + shown_row_ - cells_);
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
    const auto* const now = dynamic_cast<const UnitsReader*>(&part);
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
    return described_as(dataset, type_);
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
    DatasetDescription out = described_as(dataset, type_);
    const bool one = dataset.space.dims.size() < 2;
    const format::DatatypePtr mask = dataset::integer_type(1, false, format::ByteOrder::Little);
    for (std::size_t i = 0; i < cells; ++i) {
      row->members.push_back(
          {one ? "value" : fmt::format("{}", i), static_cast<std::uint32_t>(i * type_->size), type_});
      out.masks.emplace_back(cells + i);
    }
    for (std::size_t i = 0; i < cells; ++i)
      row->members.push_back(
          {fmt::format("mask {}", i), static_cast<std::uint32_t>(cells * type_->size + i), mask});
    out.joined = true;
    out.type = std::move(row);
    out.element_size = bytes;
    out.space.dims.resize(1);
    out.space.max_dims.resize(1);
    out.image_bytes = out.space.dims[0] * bytes;
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

dataset::DerivationPtr derive_elements(ElementsPtr elements, format::DatatypePtr type,
                                       std::uint64_t stored_bytes) {
  return std::make_shared<const EachDerivation>(std::move(elements), std::move(type), stored_bytes);
}

dataset::DerivationPtr derive_rows(ElementsPtr elements, format::DatatypePtr type,
                                   std::uint64_t stored_bytes) {
  return std::make_shared<const RowsDerivation>(std::move(elements), std::move(type), stored_bytes);
}

}  // namespace h5mount::meaning

#include "h5mount/dataset/converted_dataset.h"

#include "element_conversion.h"
#include "h5mount/cache/block_cache.h"
#include "h5mount/dataset/dataset_part.h"

namespace h5mount::dataset {
namespace {

using ReaderPtr = std::shared_ptr<const DatasetReader>;

constexpr std::uint64_t kStepsPerNumber = 8;

object::DatasetDescription describe_converted(const object::DatasetDescription& dataset,
                                              const format::DatatypePtr& element) {
  DatasetPart part = whole_dataset(dataset);
  part.type = element;
  return describe_part(dataset, part);
}

class ConvertedReader final : public DatasetReader {
 public:
  ConvertedReader(ReaderPtr base, ElementConversion conversion, const NumberConversion& types)
      : DatasetReader(describe_converted(base->description(), types.element)),
        base_(std::move(base)),
        conversion_(std::move(conversion)),
        stored_(base_->description().element_size),
        shown_(types.element->size),
        numbers_(shown_ / types.to->size) {}

  Status read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const override {
    if (offset >= size() || length == 0) return {};
    length = std::min(length, size() - offset);
    auto block = std::make_shared<cache::Block>(static_cast<std::size_t>(length));
    H5_TRY(convert(offset, block->bytes(), access));
    out.add(block->bytes(), block);
    return {};
  }
  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const override {
    return out.empty() ? Status() : convert(offset, out, {nullptr, budget});
  }

  Result<WrittenRun> written_run(std::uint64_t offset, RequestBudget& budget) const override {
    const std::uint64_t element = offset / shown_;
    H5_ASSIGN(const WrittenRun run, base_->written_run(element * stored_, budget));
    const std::uint64_t end = run.written ? (run.end + stored_ - 1) / stored_ : run.end / stored_;
    if (end > element) return WrittenRun{end * shown_, run.written};
    return WrittenRun{(element + 1) * shown_, true};
  }
  std::optional<Error> problem() const override { return base_->problem(); }

 private:
  // Converts the elements that the range touches, even if those at its ends are needed only in part.
  Status convert(std::uint64_t offset, MutableByteSpan out, ReadAccess access) const {
    const std::uint64_t first = offset / shown_, end = (offset + out.size() - 1) / shown_ + 1;
    const auto count = static_cast<std::size_t>(end - first);
    H5_TRY(access.budget.spend(kStepsPerNumber * count * numbers_));
    Pieces pieces;
    H5_TRY(base_->read(first * stored_, count * stored_, access, pieces));
    std::vector<std::byte> in(count * stored_);
    if (pieces.total() != in.size()) return fail({ErrorCode::Stale, "the dataset became shorter"});
    H5_TRY(copy_pieces(pieces.list(), in));
    if (out.size() == count * shown_) {
      conversion_.convert(count * numbers_, in, out);
      return {};
    }
    std::vector<std::byte> whole(count * shown_);
    conversion_.convert(count * numbers_, in, whole);
    std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(offset % shown_), out.size(), out.begin());
    return {};
  }

  const ReaderPtr base_;
  const ElementConversion conversion_;
  const std::uint64_t stored_, shown_;  // bytes of an element
  const std::size_t numbers_;           // numbers in an element
};

}  // namespace

format::DatatypePtr integer_type(std::uint32_t bytes, bool is_signed, format::ByteOrder order) {
  auto out = std::make_shared<format::Datatype>();
  out->cls = format::DatatypeClass::Integer;
  out->size = bytes;
  out->order = order;
  out->bit_precision = static_cast<std::uint16_t>(8 * bytes);
  out->is_signed = is_signed;
  return out;
}

format::DatatypePtr float_type(std::uint32_t bytes, format::ByteOrder order) {
  auto out = std::make_shared<format::Datatype>();
  out->cls = format::DatatypeClass::Float;
  out->size = bytes;
  out->order = order;
  out->bit_precision = static_cast<std::uint16_t>(8 * bytes);
  out->normalization = format::MantissaNormalization::Implied;
  out->exponent_size = bytes == 2 ? 5 : bytes == 4 ? 8 : 11;
  out->mantissa_size = static_cast<std::uint8_t>(8 * bytes - 1 - out->exponent_size);
  out->exponent_location = out->mantissa_size;
  out->sign_location = static_cast<std::uint8_t>(8 * bytes - 1);
  out->exponent_bias = (1U << (out->exponent_size - 1)) - 1;
  return out;
}

Result<ReaderPtr> open_converted(ReaderPtr dataset, const NumberConversion& types) {
  auto conversion = ElementConversion::make(types.from, types.to);
  if (!conversion) return fail({ErrorCode::UnsupportedFeature, "numbers of a format that is not converted"});
  if (conversion->identity()) return dataset;
  return std::make_shared<const ConvertedReader>(std::move(dataset), *std::move(conversion), types);
}

}  // namespace h5mount::dataset

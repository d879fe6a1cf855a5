#include "texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "h5mount/base/bytes.h"
#include "h5mount/dataset/dataset_part.h"
#include "h5mount/dataset/readers_over.h"

namespace h5mount::meaning {

namespace {

using dataset::ByteRange;
using dataset::DatasetReader;
using dataset::DatasetReaderPtr;
using object::DatasetDescription;

class Flags final : public OfNumbers {
 public:
  Flags(const Packing& packing, FlagNames names)
      : OfNumbers(packing, flag_bytes(names)), kind_(packing.read_as), names_(std::move(names)) {}

 private:
  bool write(const std::byte* value, MutableByteSpan to) const override {
    const std::string text = value != nullptr ? name_of(load_le_width(value, bytes_of(kind_))) : "NaN";
    std::ranges::fill(to, std::byte{0});
    std::memcpy(to.data(), text.data(), std::min(text.size(), to.size()));
    return value != nullptr;
  }

  std::string name_of(std::uint64_t number) const {
    const unsigned unused = 64 - 8 * bytes_of(kind_);
    if (kind_ < NumberKind::U8)
      number = static_cast<std::uint64_t>(static_cast<std::int64_t>(number << unused) >> unused);
    const auto found = names_.find(number);
    if (found != names_.end()) return found->second;
    return kind_ < NumberKind::U8 ? fmt::format("{}", static_cast<std::int64_t>(number))
                                  : fmt::format("{}", number);
  }

  const NumberKind kind_;
  const FlagNames names_;
};

class StringsDerivation final : public dataset::Derivation {
 public:
  Result<DatasetDescription> describe(const DatasetDescription& dataset) const override {
    DatasetDescription out = dataset::describe_part(dataset, dataset::whole_dataset(dataset));
    const std::uint64_t length = out.space.dims.empty() ? 0 : out.space.dims.back();
    if (dataset.element_size != 1 || length == 0 || length > std::numeric_limits<std::uint32_t>::max())
      return fail({ErrorCode::Stale, "characters that are no strings any more"});
    out.type = text_type(static_cast<std::uint32_t>(length));
    out.element_size = length;
    out.space.dims.pop_back();
    if (!out.space.max_dims.empty()) out.space.max_dims.pop_back();
    if (out.space.dims.empty()) out.space.kind = format::DataspaceKind::Scalar;
    return out;
  }
  Result<DatasetReaderPtr> open(DatasetReaderPtr dataset) const override {
    H5_ASSIGN(DatasetDescription shown, describe(dataset->description()));
    return std::make_shared<const dataset::SameImageReader>(std::move(shown), std::move(dataset));
  }
  std::vector<ByteRange> stale_since(const DatasetReader& part, const DatasetReader& before,
                                     std::span<const ByteRange> stale) const override {
    if (part.description().element_size != before.description().element_size) return {dataset::kWholeImage};
    return {stale.begin(), stale.end()};
  }
};

}  // namespace

format::DatatypePtr text_type(std::uint32_t bytes) {
  auto out = std::make_shared<format::Datatype>();
  out->cls = format::DatatypeClass::String;
  out->size = bytes;
  out->padding = format::StringPadding::NullPad;
  return out;
}

std::uint32_t flag_bytes(const FlagNames& names) {
  constexpr std::size_t kOfNumber = 20;
  std::size_t most = kOfNumber;
  for (const auto& [code, name] : names) most = std::max(most, name.size());
  return static_cast<std::uint32_t>(most);
}

ElementsPtr flags_of(const Packing& packing, FlagNames names) {
  return std::make_shared<const Flags>(packing, std::move(names));
}

dataset::DerivationPtr derive_strings() {
  return std::make_shared<const StringsDerivation>();
}

}  // namespace h5mount::meaning

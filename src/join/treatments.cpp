#include "treatments.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "exact_times.h"
#include "h5mount/dataset/converted_dataset.h"
#include "h5mount/dataset/readers_over.h"
#include "h5mount/meaning/elements.h"

namespace h5mount::join {

namespace {

using dataset::DatasetReaderPtr;
using meaning::NumberKind;

Error no_treatment(std::string_view why) {
  return {ErrorCode::UnsupportedFeature, std::string(why)};
}

// The number of the bits that AttributeNumbers has of one of the kind `From`.
template <class Element, class From>
Element of_bits(std::uint64_t bits) {
  if constexpr (std::is_floating_point_v<From>)
    return static_cast<Element>(std::bit_cast<double>(bits));
  else if constexpr (std::is_signed_v<From>)
    return static_cast<Element>(static_cast<std::int64_t>(bits));
  else
    return static_cast<Element>(bits);
}

template <class Element>
Element load(const std::byte* from, bool swap) {
  std::byte bytes[sizeof(Element)];
  std::memcpy(bytes, from, sizeof bytes);
  if (swap) std::ranges::reverse(bytes);
  return std::bit_cast<Element>(bytes);
}

// As libraries compare a number with a fill value: a NaN stands for each.
template <class Element>
bool equal(Element a, Element b) {
  return a == b || (a != a && b != b);
}

template <class Element>
class MappedFill final : public dataset::UnitsReader {
 public:
  MappedFill(object::DatasetDescription shown, DatasetReaderPtr base, std::optional<Element> own,
             Element joined)
      : UnitsReader(std::move(shown), std::move(base), sizeof(Element), sizeof(Element)),
        own_(own),
        joined_(joined) {}

 private:
  // A NaN is missing in every file, whether it is its fill value or not.
  Status make(ByteSpan stored, MutableByteSpan shown) const override {
    std::size_t at = 0;
    for (; at < stored.size(); at += sizeof(Element)) {
      auto number = load<Element>(stored.data() + at, false);
      if (own_ && equal(number, *own_))
        number = joined_;
      else if (number == joined_)
        break;
      std::memcpy(shown.data() + at, &number, sizeof number);
    }
    if (at == stored.size()) return {};
    return fail(
        {ErrorCode::InvalidValue,
         fmt::format("an element is {}, which is the fill value of the joined dataset and none of this "
                     "file's: it could not be told from a missing one",
                     joined_)});
  }

  const std::optional<Element> own_;
  const Element joined_;
};

// The dataset with its elements in the type of the joined one, in which the fill values of all files are
// exact.
Result<DatasetReaderPtr> with_fill(DatasetReaderPtr dataset, const Treatment::Fill& fill,
                                   const format::Datatype& joined) {
  const auto own = meaning::number_type(*dataset->description().type);
  const auto shown = meaning::number_type(joined);
  if (!own || !shown) return fail(no_treatment("a fill value of elements that are no numbers"));
  const format::DatatypePtr type = meaning::type_of(shown->kind);
  H5_ASSIGN(dataset, dataset::open_converted(dataset, {type, dataset->description().type, type}));
  H5_ASSIGN(object::DatasetDescription described, meaning::described_as(dataset->description(), type, 1));
  return text::with_number(shown->kind, [&]<class Element>(Element) -> DatasetReaderPtr {
    const auto own_fill = fill.own.transform([&](std::uint64_t bits) {
      return text::with_number(own->kind, [&]<class Own>(Own) { return of_bits<Element, Own>(bits); });
    });
    return std::make_shared<const MappedFill<Element>>(std::move(described), std::move(dataset), own_fill,
                                                       of_bits<Element, Element>(fill.joined));
  });
}

template <class Element>
class Rebased final : public dataset::UnitsReader {
 public:
  Rebased(object::DatasetDescription shown, DatasetReaderPtr base, bool swap, const Treatment::Rebase& rebase)
      : UnitsReader(std::move(shown), std::move(base), sizeof(Element), sizeof(double)),
        swap_(swap),
        to_integer_(rebase.to_integer),
        times_(rebase.from, rebase.to) {
    for (const std::uint64_t bits : rebase.keeps) keeps_.push_back(of_bits<Element, Element>(bits));
  }

 private:
  Status make(ByteSpan stored, MutableByteSpan shown) const override {
    if (to_integer_) return make_integers(stored, shown);
    const std::size_t count = stored.size() / sizeof(Element);
    for (std::size_t i = 0; i < count; ++i) {
      const auto number = load<Element>(stored.data() + i * sizeof(Element), swap_);
      const double value = is_kept(number) ? static_cast<double>(number) : times_.rebased(number);
      std::memcpy(shown.data() + i * sizeof value, &value, sizeof value);
    }
    return {};
  }

  Status make_integers(ByteSpan stored, MutableByteSpan shown) const {
    if constexpr (std::is_integral_v<Element>) {
      const std::size_t count = stored.size() / sizeof(Element);
      for (std::size_t i = 0; i < count; ++i) {
        const auto number = load<Element>(stored.data() + i * sizeof(Element), swap_);
        std::optional<std::int64_t> value;
        if (!is_kept(number))
          value = times_.rebased_whole(number);
        else if (std::in_range<std::int64_t>(number))
          value = static_cast<std::int64_t>(number);
        if (!value)
          return fail(
              {ErrorCode::OutOfRange,
               fmt::format("the time {} is no whole number of 64 bits in the units of the joined dataset",
                           number)});
        std::memcpy(shown.data() + i * sizeof *value, &*value, sizeof *value);
      }
    }
    return {};
  }

  bool is_kept(Element number) const {
    for (const Element kept : keeps_)
      if (number == kept) return true;
    return false;
  }

  const bool swap_, to_integer_;
  const ExactTimes times_;
  std::vector<Element> keeps_;
};

Result<DatasetReaderPtr> rebased(DatasetReaderPtr dataset, const Treatment::Rebase& rebase) {
  const auto own = meaning::number_type(*dataset->description().type);
  if (!own || (rebase.to_integer && !meaning::is_integer(own->kind)))
    return fail(no_treatment("times that are no numbers, or no whole ones"));
  if (!ExactTimes::can(rebase.from, rebase.to)) return fail(no_treatment("units of time out of all bounds"));
  const NumberKind kind = rebase.to_integer ? NumberKind::I64 : NumberKind::F64;
  H5_ASSIGN(object::DatasetDescription shown,
            meaning::described_as(dataset->description(), meaning::type_of(kind), 1));
  return text::with_number(own->kind, [&]<class Element>(Element) -> DatasetReaderPtr {
    return std::make_shared<const Rebased<Element>>(std::move(shown), std::move(dataset), own->big_endian,
                                                    rebase);
  });
}

// Numbers that are not scaled become floats by a scale of 1, which is exact in those that hold them.
Result<DatasetReaderPtr> unpacked(DatasetReaderPtr dataset, meaning::Packing packing) {
  const auto own = meaning::number_type(*dataset->description().type);
  if (!own || own->kind != packing.stored.kind || own->big_endian != packing.stored.big_endian ||
      meaning::bytes_of(packing.read_as) != meaning::bytes_of(own->kind))
    return fail(no_treatment("elements of another type than their packing is of"));
  const bool to_float = !meaning::is_integer(packing.shown);
  if (!packing.scaled() && to_float && packing.shown != packing.read_as) packing.scale = 1;
  if (packing.scaled() ? !to_float : packing.shown != packing.read_as)
    return fail(no_treatment("a packing that makes no floats"));
  const auto derivation = meaning::derive_elements(
      meaning::elements_of(packing), meaning::type_of(packing.shown), dataset->description().element_size);
  return derivation->open(std::move(dataset));
}

}  // namespace

Result<DatasetReaderPtr> treated(DatasetReaderPtr dataset, const Treatment& treatment,
                                 const format::DatatypePtr& joined) {
  if (treatment.unpack) {
    H5_ASSIGN(dataset, unpacked(std::move(dataset), *treatment.unpack));
  }
  if (treatment.fill) {
    H5_ASSIGN(dataset, with_fill(std::move(dataset), *treatment.fill, *joined));
  }
  if (treatment.rebase) {
    H5_ASSIGN(dataset, rebased(std::move(dataset), *treatment.rebase));
  }
  return dataset;
}

}  // namespace h5mount::join

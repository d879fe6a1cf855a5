#include "h5mount/meaning/packing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "h5mount/dataset/converted_dataset.h"

namespace h5mount::meaning {

namespace {

template <class Number>
Number from_bits(std::uint64_t bits) {
  if constexpr (std::is_floating_point_v<Number>)
    return static_cast<Number>(std::bit_cast<double>(bits));
  else
    return static_cast<Number>(bits);
}

template <class Number>
Number swapped(Number number) {
  using Bits = std::conditional_t<
      sizeof(Number) == 1, std::uint8_t,
      std::conditional_t<sizeof(Number) == 2, std::uint16_t,
                         std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t>>>;
  return std::bit_cast<Number>(std::byteswap(std::bit_cast<Bits>(number)));
}

template <class Stored, class Shown>
class PackedElements final : public Elements {
 public:
  explicit PackedElements(const Packing& packing)
      : swap_(packing.stored.big_endian),
        scale_(packing.scale),
        offset_(packing.offset),
        least_(packing.least.transform(from_bits<Stored>)),
        most_(packing.most.transform(from_bits<Stored>)) {
    for (const std::uint64_t bits : packing.fills) {
      const auto fill = from_bits<Stored>(bits);
      if (fill != fill)
        nan_is_missing_ = true;
      else
        fills_.push_back(fill);
    }
  }

  void decode(ByteSpan stored, MutableByteSpan values, std::byte* missing) const override {
    const std::size_t count = stored.size() / sizeof(Stored);
    for (std::size_t i = 0; i < count; ++i) {
      Stored number;
      std::memcpy(&number, stored.data() + i * sizeof number, sizeof number);
      if (swap_) number = swapped(number);
      const bool absent = is_missing(number);
      const Shown value = absent ? absent_value(number) : value_of(number);
      std::memcpy(values.data() + i * sizeof value, &value, sizeof value);
      if (missing != nullptr) missing[i] = std::byte{absent};
    }
  }

 private:
  bool is_missing(Stored number) const {
    for (const Stored fill : fills_)
      if (number == fill) return true;
    if (number != number) return nan_is_missing_;
    return (least_ && number < *least_) || (most_ && number > *most_);
  }
  static Shown absent_value(Stored number) {
    if constexpr (std::is_floating_point_v<Shown>)
      return std::numeric_limits<Shown>::quiet_NaN();
    else
      return static_cast<Shown>(number);
  }
  // Compiled without fused multiply-add: each step is rounded.
  Shown value_of(Stored number) const {
    auto value = static_cast<Shown>(number);
    if (scale_) value = static_cast<Shown>(value * static_cast<Shown>(*scale_));
    if (offset_) value = static_cast<Shown>(value + static_cast<Shown>(*offset_));
    return value;
  }

  const bool swap_;
  const std::optional<double> scale_, offset_;
  const std::optional<Stored> least_, most_;
  std::vector<Stored> fills_;
  bool nan_is_missing_ = false;
};

template <class Stored>
ElementsPtr elements_from(const Packing& packing) {
  if (!packing.scaled()) return std::make_shared<PackedElements<Stored, Stored>>(packing);
  if (packing.shown == NumberKind::F32) return std::make_shared<PackedElements<Stored, float>>(packing);
  return std::make_shared<PackedElements<Stored, double>>(packing);
}

}  // namespace

ElementsPtr elements_of(const Packing& packing) {
  return text::with_number(packing.read_as,
                           [&]<class Number>(Number) { return elements_from<Number>(packing); });
}

OfNumbers::OfNumbers(const Packing& packing, std::size_t shown_bytes)
    : values_(elements_of(packing)),
      stored_bytes_(bytes_of(packing.stored.kind)),
      value_bytes_(bytes_of(packing.shown)),
      shown_bytes_(shown_bytes) {}

void OfNumbers::decode(ByteSpan stored, MutableByteSpan shown, std::byte* missing) const {
  constexpr std::size_t kAtOnce = 512;
  std::array<std::byte, kAtOnce * sizeof(double)> values;
  std::array<std::byte, kAtOnce> absent;
  while (!stored.empty()) {
    const std::size_t count = std::min(kAtOnce, stored.size() / stored_bytes_);
    values_->decode(stored.first(count * stored_bytes_), MutableByteSpan(values).first(count * value_bytes_),
                    absent.data());
    for (std::size_t i = 0; i < count; ++i, shown = shown.subspan(shown_bytes_)) {
      const std::byte* const value = absent[i] == std::byte{0} ? values.data() + i * value_bytes_ : nullptr;
      const bool there = write(value, shown.first(shown_bytes_));
      if (missing != nullptr) *missing++ = std::byte{!there};
    }
    stored = stored.subspan(count * stored_bytes_);
  }
}

format::DatatypePtr type_of(NumberKind kind) {
  constexpr auto kLittle = format::ByteOrder::Little;
  return is_integer(kind) ? dataset::integer_type(bytes_of(kind), kind < NumberKind::U8, kLittle)
                          : dataset::float_type(bytes_of(kind), kLittle);
}

}  // namespace h5mount::meaning

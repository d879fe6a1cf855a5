#include "times.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace h5mount::meaning {

namespace {

// Microseconds since the epoch; nullopt: more than 64 bits hold.
template <class Number>
std::optional<std::int64_t> microseconds_of(const std::byte* value, std::int64_t unit) {
  Number number;
  std::memcpy(&number, value, sizeof number);
  if constexpr (std::is_floating_point_v<Number>) {
    const long double product = static_cast<long double>(number) * static_cast<long double>(unit);
    constexpr long double kMost = 0x1p63L;
    if (!(product > -kMost && product < kMost)) return std::nullopt;  // NaN too
    return std::llrint(product);
  } else {
    std::int64_t out = 0;
    return __builtin_mul_overflow(number, unit, &out) ? std::nullopt : std::optional(out);
  }
}

using ToMicroseconds = std::optional<std::int64_t> (*)(const std::byte* value, std::int64_t unit);
ToMicroseconds to_microseconds(NumberKind kind) {
  return text::with_number(kind,
                           []<class Number>(Number) -> ToMicroseconds { return microseconds_of<Number>; });
}

class Times : public OfNumbers {
 protected:
  Times(const Packing& packing, const TimeUnits& units, std::size_t shown_bytes)
      : OfNumbers(packing, shown_bytes), units_(units), convert_(to_microseconds(packing.shown)) {}

 private:
  bool write(const std::byte* value, MutableByteSpan to) const override {
    const auto since = value != nullptr ? convert_(value, units_.unit) : std::nullopt;
    return write_moment(since ? moment_at(units_, *since) : std::nullopt, to);
  }
  virtual bool write_moment(const std::optional<Moment>& moment, MutableByteSpan to) const = 0;

  const TimeUnits units_;
  const ToMicroseconds convert_;
};

class Timestamps final : public Times {
 public:
  Timestamps(const Packing& packing, const TimeUnits& units) : Times(packing, units, sizeof(std::int64_t)) {}

 private:
  bool write_moment(const std::optional<Moment>& moment, MutableByteSpan to) const override {
    constexpr std::int64_t kNotATime = std::numeric_limits<std::int64_t>::min();
    const auto time = moment ? numpy_time(*moment) : std::nullopt;
    const std::int64_t number = time.value_or(kNotATime);
    std::memcpy(to.data(), &number, sizeof number);
    return time.has_value();
  }
};

class Moments final : public Times {
 public:
  Moments(const Packing& packing, const TimeUnits& units, bool fraction)
      : Times(packing, units, moment_bytes(fraction)),
        year_zero_(units.calendar != Calendar::Standard && units.calendar != Calendar::Julian),
        fraction_(fraction) {}

 private:
  bool write_moment(const std::optional<Moment>& moment, MutableByteSpan to) const override {
    std::string text = "NaT";
    if (moment) {
      Moment named = *moment;
      if (!year_zero_ && named.year < 1) --named.year;
      text = moment_text(named, fraction_);
    }
    std::ranges::fill(to, std::byte{0});
    std::memcpy(to.data(), text.data(), std::min(text.size(), to.size()));
    return moment.has_value();
  }

  const bool year_zero_, fraction_;
};

}  // namespace

bool has_fractions(const Packing& packing, const TimeUnits& units) {
  return !units.whole_seconds || !is_integer(packing.shown);
}

ElementsPtr timestamps_of(const Packing& packing, const TimeUnits& units) {
  return std::make_shared<const Timestamps>(packing, units);
}

format::DatatypePtr timestamp_type(std::string_view tag) {
  auto out = std::make_shared<format::Datatype>();
  out->cls = format::DatatypeClass::Opaque;
  out->size = sizeof(std::int64_t);
  out->tag = tag;
  return out;
}

ElementsPtr moments_of(const Packing& packing, const TimeUnits& units) {
  return std::make_shared<const Moments>(packing, units, has_fractions(packing, units));
}

}  // namespace h5mount::meaning

// Times in other units: (value * from.unit + from.epoch - to.epoch) / to.unit, exactly, rounded once. Pure;
// threads: any.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>

#include "h5mount/meaning/calendar.h"

namespace h5mount::join {

__extension__ using Int128 = __int128;

class ExactTimes {
 public:
  // Whether units and epochs are within the bounds that the functions below are right for.
  static bool can(const meaning::TimeUnits& from, const meaning::TimeUnits& to);
  ExactTimes(const meaning::TimeUnits& from, const meaning::TimeUnits& to);

  // Rounded to the nearest double, to the even one of two. NaN and infinities stay; a result of 0 is +0.
  double rebased(double value) const {
    // Most times are multiples of 2^-kFraction. Then numerator and denominator below are whole, below 2^53
    // in a double without rounding, and the division is the only one that rounds.
    const double scaled = value * kFractions;
    if (std::fabs(scaled) < kWholeDoubles) {
      const auto whole = static_cast<std::int64_t>(scaled);
      std::int64_t numerator = 0;
      if (static_cast<double>(whole) == scaled && small_ &&
          !__builtin_mul_overflow(whole, unit_, &numerator) &&
          !__builtin_add_overflow(numerator, small_difference_, &numerator) && numerator >= -kMostWhole &&
          numerator <= kMostWhole)
        return static_cast<double>(numerator) / small_divisor_;
    }
    return exactly(value);
  }
  double rebased(float value) const { return rebased(static_cast<double>(value)); }
  template <std::integral Number>
  double rebased(Number value) const {
    return exactly(Int128{value} * unit_ + difference_);
  }

  // nullopt: the result is not whole, or beyond 64 bits.
  template <std::integral Number>
  std::optional<std::int64_t> rebased_whole(Number value) const {
    return whole(Int128{value} * unit_ + difference_);
  }

 private:
  static constexpr int kFraction = 20;
  static constexpr double kFractions = 1 << kFraction;
  static constexpr std::int64_t kMostWhole = std::int64_t{1} << 53;
  static constexpr double kWholeDoubles = static_cast<double>(kMostWhole);

  double exactly(double value) const;
  double exactly(Int128 numerator) const;
  std::optional<std::int64_t> whole(Int128 numerator) const;

  // All three without their common divisor.
  std::int64_t unit_, divisor_;
  Int128 difference_;  // of the epochs
  // For most times: times 2^kFraction, if it fits.
  bool small_;
  std::int64_t small_difference_;
  double small_divisor_;
};

}  // namespace h5mount::join

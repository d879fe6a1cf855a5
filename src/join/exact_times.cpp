#include "exact_times.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>

namespace h5mount::join {

namespace {

__extension__ using UInt128 = unsigned __int128;

// Bounds of can(): a product of a number of 64 bits (or the 53 of a double) and a unit is below 2^105, a
// difference of epochs below 2^70.
constexpr std::int64_t kMostUnit = std::int64_t{1} << 40;
constexpr std::int64_t kMostDays = std::int64_t{1} << 32;

bool within_bounds(const meaning::TimeUnits& units) {
  return units.unit > 0 && units.unit <= kMostUnit && units.epoch_day >= -kMostDays &&
         units.epoch_day <= kMostDays && units.epoch_microsecond >= -meaning::kMicrosecondsOfDay &&
         units.epoch_microsecond <= meaning::kMicrosecondsOfDay;
}

UInt128 magnitude(Int128 number) {
  return number < 0 ? -static_cast<UInt128>(number) : static_cast<UInt128>(number);
}

// A whole number that is not negative, of 320 bits, and whether something below 1 was dropped.
class Wide {
 public:
  static constexpr int kLimbs = 5;

  // value * 2^shift, rounded down.
  Wide(UInt128 value, int shift) {
    if (shift < 0) {
      const int dropped = -shift;
      inexact_ = dropped >= 128 ? value != 0 : (value & ((UInt128{1} << dropped) - 1)) != 0;
      value = dropped >= 128 ? 0 : value >> dropped;
      shift = 0;
    }
    limbs_[0] = static_cast<std::uint64_t>(value);
    limbs_[1] = static_cast<std::uint64_t>(value >> 64);
    shift_left(shift);
  }

  bool is_zero() const { return bits() == 0; }
  int bits() const {
    for (int i = kLimbs; i-- > 0;)
      if (limbs_[at(i)] != 0) return 64 * i + static_cast<int>(std::bit_width(limbs_[at(i)]));
    return 0;
  }

  // Nothing is shifted out.
  void shift_left(int shift) {
    const int whole = shift / 64, part = shift % 64;
    for (int i = kLimbs; i-- > 0;) {
      const std::uint64_t low = i - whole - 1 >= 0 ? limbs_[at(i - whole - 1)] : 0;
      const std::uint64_t high = i - whole >= 0 ? limbs_[at(i - whole)] : 0;
      limbs_[at(i)] = part == 0 ? high : high << part | low >> (64 - part);
    }
  }

  // Adds or subtracts; the result is not negative. What the other one has dropped is taken for a number
  // between 0 and 1: the result is then rounded down, and inexact.
  void add(const Wide& other) {
    UInt128 carry = 0;
    for (int i = 0; i < kLimbs; ++i) {
      carry += limbs_[at(i)];
      carry += other.limbs_[at(i)];
      limbs_[at(i)] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    inexact_ = inexact_ || other.inexact_;
  }
  void subtract(const Wide& other) {
    std::uint64_t borrow = other.inexact_ ? 1 : 0;
    for (int i = 0; i < kLimbs; ++i) {
      const UInt128 left = (UInt128{1} << 64 | limbs_[at(i)]) - other.limbs_[at(i)] - borrow;
      limbs_[at(i)] = static_cast<std::uint64_t>(left);
      borrow = (left >> 64) == 0 ? 1 : 0;
    }
    inexact_ = inexact_ || other.inexact_;
  }
  bool below(const Wide& other) const {
    for (int i = kLimbs; i-- > 0;)
      if (limbs_[at(i)] != other.limbs_[at(i)]) return limbs_[at(i)] < other.limbs_[at(i)];
    return false;
  }

  // Divides and rounds down.
  void divide(std::uint64_t divisor) {
    std::uint64_t rest = 0;
    for (int i = kLimbs; i-- > 0;) {
      const UInt128 left = UInt128{rest} << 64 | limbs_[at(i)];
      const auto quotient = left < divisor ? 0 : static_cast<std::uint64_t>(left / divisor);
      rest = static_cast<std::uint64_t>(left) - quotient * divisor;
      limbs_[at(i)] = quotient;
    }
    inexact_ = inexact_ || rest != 0;
  }

  // The upper 64 bits from the highest one on, of which the last is 1 if anything below is not 0. At least 64
  // bits.
  std::uint64_t upper() const {
    const int low = bits() - 64;
    std::uint64_t out = limbs_[at(low / 64)] >> (low % 64);
    if (low % 64 != 0) out |= limbs_[at(low / 64 + 1)] << (64 - low % 64);
    bool more = inexact_ || (limbs_[at(low / 64)] & ((std::uint64_t{1} << (low % 64)) - 1)) != 0;
    for (int i = 0; i < low / 64; ++i) more = more || limbs_[at(i)] != 0;
    return out | (more ? 1 : 0);
  }

 private:
  static std::size_t at(int limb) { return static_cast<std::size_t>(limb); }

  std::array<std::uint64_t, kLimbs> limbs_{};
  bool inexact_ = false;
};

// upper * 2^exponent as a double, rounded once. The highest bit of `upper` is set, and its last one stands
// for all that is below: it is far below the bit that is rounded, which only needs to know whether the rest
// is 0.
double rounded(std::uint64_t upper, int exponent) {
  constexpr int kLeastExponent = -1074;  // of the smallest double that is not 0
  const int dropped = kLeastExponent - exponent;
  if (dropped <= 64 - std::numeric_limits<double>::digits)
    return std::ldexp(static_cast<double>(upper), exponent);
  if (dropped > 64) return 0;
  std::uint64_t kept = dropped == 64 ? 0 : upper >> dropped;
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  const std::uint64_t rest = dropped == 64 ? upper : upper & (2 * half - 1);
  if (rest > half || (rest == half && kept % 2 == 1)) ++kept;
  return std::ldexp(static_cast<double>(kept), kLeastExponent);
}

// number * 2^exponent / divisor, rounded once; `number` is not 0. Of 128 bits and more, the quotient has at
// least 87. If `number` has dropped bits, it has so many others (see exactly) that no double, nor the middle
// between two of them, times the divisor lies between it and the next number: such a product has at most
// 54 + 41 bits. So rounding down and the mark that something is below are enough.
double divided(Wide number, int exponent, std::uint64_t divisor) {
  const int shift = std::max(0, 128 - number.bits());
  number.shift_left(shift);
  number.divide(divisor);
  return rounded(number.upper(), exponent - shift + number.bits() - 64);
}

}  // namespace

bool ExactTimes::can(const meaning::TimeUnits& from, const meaning::TimeUnits& to) {
  return within_bounds(from) && within_bounds(to);
}

ExactTimes::ExactTimes(const meaning::TimeUnits& from, const meaning::TimeUnits& to)
    : unit_(from.unit),
      divisor_(to.unit),
      difference_(Int128{from.epoch_day - to.epoch_day} * meaning::kMicrosecondsOfDay +
                  (from.epoch_microsecond - to.epoch_microsecond)) {
  std::int64_t common = std::gcd(unit_, divisor_);
  common = std::gcd(common, static_cast<std::int64_t>(difference_ % common));
  unit_ /= common;
  divisor_ /= common;
  difference_ /= common;
  const Int128 scaled = difference_ * (Int128{1} << kFraction);
  small_ = magnitude(scaled) < UInt128{1} << 62;
  small_difference_ = small_ ? static_cast<std::int64_t>(scaled) : 0;
  small_divisor_ = static_cast<double>(divisor_) * kFractions;
}

std::optional<std::int64_t> ExactTimes::whole(Int128 numerator) const {
  const Int128 out = numerator / divisor_;
  if (numerator % divisor_ != 0 || out < std::numeric_limits<std::int64_t>::min() ||
      out > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  return static_cast<std::int64_t>(out);
}

double ExactTimes::exactly(Int128 numerator) const {
  const UInt128 number = magnitude(numerator);
  // Both are doubles without rounding.
  if (number <= static_cast<UInt128>(kMostWhole))
    return static_cast<double>(static_cast<std::int64_t>(numerator)) / static_cast<double>(divisor_);
  const double out = divided(Wide(number, 0), 0, static_cast<std::uint64_t>(divisor_));
  return numerator < 0 ? -out : out;
}

// value = whole * 2^exponent. Product and difference are put on one grid of 2^grid, fine enough that nothing
// is lost while they may cancel: the product below 2^94 * 2^exponent, the difference, if there is one, at
// least 1. Where one of them has bits below the grid, which is then 2^-190 or 2^160, it is smaller than the
// other by far, which has 150 bits and more on the grid.
double ExactTimes::exactly(double value) const {
  constexpr int kFinest = -190, kCoarsest = 160;
  if (!std::isfinite(value)) return value;
  int exponent = 0;
  const auto whole = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  exponent -= 53;
  const Int128 product = Int128{whole} * unit_;
  if (product == 0) return exactly(difference_);
  if (difference_ == 0) {
    const double out = divided(Wide(magnitude(product), 0), exponent, static_cast<std::uint64_t>(divisor_));
    return product < 0 ? -out : out;
  }
  int grid = std::min(exponent, 0);
  if (exponent < kFinest) grid = kFinest;
  if (exponent > kCoarsest) grid = exponent - kCoarsest;
  Wide sum(magnitude(product), exponent - grid), other(magnitude(difference_), -grid);
  bool negative = product < 0;
  if (negative == (difference_ < 0)) {
    sum.add(other);
  } else {
    if (sum.below(other)) {
      std::swap(sum, other);
      negative = !negative;
    }
    sum.subtract(other);
  }
  if (sum.is_zero()) return 0;
  const double out = divided(sum, grid, static_cast<std::uint64_t>(divisor_));
  return negative ? -out : out;
}

}  // namespace h5mount::join

#include "big_number.h"

#include <algorithm>
#include <bit>

namespace h5mount::text {

namespace {

// Twice the width of a limb, for the product of two limbs and a carry.
__extension__ using Wide = unsigned __int128;
constexpr std::size_t kLimbBytes = sizeof(std::uint64_t), kLimbBits = 64;

// The greatest power of ten that a limb holds.
constexpr std::uint32_t kDigitsPerLimb = 19;
constexpr std::uint64_t kPowerPerLimb = 10'000'000'000'000'000'000U;

}  // namespace

BigNumber::BigNumber(std::uint64_t value) {
  if (value != 0) limbs_.push_back(value);
}

BigNumber BigNumber::from_little_endian(ByteSpan bytes) {
  BigNumber number;
  for (std::size_t at = 0; at < bytes.size(); at += kLimbBytes)
    number.limbs_.push_back(load_le_width(bytes.data() + at, std::min(kLimbBytes, bytes.size() - at)));
  number.trim();
  return number;
}

void BigNumber::trim() {
  while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
}

std::size_t BigNumber::bit_width() const {
  return limbs_.empty()
             ? 0
             : kLimbBits * (limbs_.size() - 1) + static_cast<std::size_t>(std::bit_width(limbs_.back()));
}

void BigNumber::multiply(std::uint64_t factor) {
  Wide carry = 0;
  for (std::uint64_t& limb : limbs_) {
    carry += Wide{limb} * factor;
    limb = static_cast<std::uint64_t>(carry);
    carry >>= kLimbBits;
  }
  if (carry != 0) limbs_.push_back(static_cast<std::uint64_t>(carry));
  trim();
}

void BigNumber::multiply_by_power_of_ten(std::uint32_t power) {
  for (; power >= kDigitsPerLimb; power -= kDigitsPerLimb) multiply(kPowerPerLimb);
  for (; power > 0; --power) multiply(10);
}

void BigNumber::shift_left(std::size_t bits) {
  if (is_zero()) return;
  const unsigned rest = static_cast<unsigned>(bits % kLimbBits);
  if (rest != 0) multiply(std::uint64_t{1} << rest);
  limbs_.insert(limbs_.begin(), bits / kLimbBits, 0);
}

void BigNumber::add(const BigNumber& other) {
  limbs_.resize(std::max(limbs_.size(), other.limbs_.size()) + 1);
  Wide carry = 0;
  for (std::size_t i = 0; i < limbs_.size(); ++i) {
    carry += limbs_[i];
    if (i < other.limbs_.size()) carry += other.limbs_[i];
    limbs_[i] = static_cast<std::uint64_t>(carry);
    carry >>= kLimbBits;
  }
  trim();
}

void BigNumber::subtract(const BigNumber& other) {
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < limbs_.size(); ++i) {
    const Wide taken = Wide{i < other.limbs_.size() ? other.limbs_[i] : 0} + borrow;
    borrow = limbs_[i] < taken ? 1 : 0;
    limbs_[i] = static_cast<std::uint64_t>((Wide{borrow} << kLimbBits) + limbs_[i] - taken);
  }
  trim();
}

std::uint64_t BigNumber::divide(std::uint64_t divisor) {
  Wide remainder = 0;
  for (std::size_t i = limbs_.size(); i-- > 0;) {
    remainder = remainder << kLimbBits | limbs_[i];
    limbs_[i] = static_cast<std::uint64_t>(remainder / divisor);
    remainder %= divisor;
  }
  trim();
  return static_cast<std::uint64_t>(remainder);
}

std::strong_ordering BigNumber::operator<=>(const BigNumber& other) const {
  if (limbs_.size() != other.limbs_.size()) return limbs_.size() <=> other.limbs_.size();
  for (std::size_t i = limbs_.size(); i-- > 0;)
    if (limbs_[i] != other.limbs_[i]) return limbs_[i] <=> other.limbs_[i];
  return std::strong_ordering::equal;
}

std::string BigNumber::to_decimal() const {
  if (is_zero()) return "0";
  BigNumber rest = *this;
  std::string digits;  // least significant first
  while (!rest.is_zero()) {
    std::uint64_t group = rest.divide(kPowerPerLimb);
    for (std::uint32_t i = 0; i < kDigitsPerLimb && (group != 0 || !rest.is_zero()); ++i, group /= 10)
      digits.push_back(static_cast<char>('0' + group % 10));
  }
  std::ranges::reverse(digits);
  return digits;
}

}  // namespace h5mount::text

// Natural numbers of any size, with the operations that printing needs.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "h5mount/base/bytes.h"

namespace h5mount::text {

class BigNumber {
 public:
  explicit BigNumber(std::uint64_t value = 0);
  static BigNumber from_little_endian(ByteSpan bytes);

  bool is_zero() const { return limbs_.empty(); }
  bool is_odd() const { return !limbs_.empty() && (limbs_[0] & 1) != 0; }
  std::size_t bit_width() const;
  std::uint64_t low_bits() const { return limbs_.empty() ? 0 : limbs_[0]; }  // the lowest 64

  void multiply(std::uint64_t factor);
  void multiply_by_power_of_ten(std::uint32_t power);
  void shift_left(std::size_t bits);
  void add(const BigNumber& other);
  void subtract(const BigNumber& other);        // other <= *this
  std::uint64_t divide(std::uint64_t divisor);  // returns the remainder
  std::strong_ordering operator<=>(const BigNumber& other) const;
  bool operator==(const BigNumber& other) const = default;

  std::string to_decimal() const;

 private:
  void trim();
  std::vector<std::uint64_t> limbs_;  // least significant first, the last one not zero
};

}  // namespace h5mount::text

// Private to the module: reads bit strings as nbit and scale-offset store them: each byte from its most
// significant bit, values without alignment.
#pragma once

#include "h5mount/base/bytes.h"

namespace h5mount::filter {

class BitReader {
 public:
  explicit BitReader(ByteSpan in) : in_(in), bits_(std::uint64_t{in.size()} * 8) {}

  // True if at least `count` values of `width` bits remain. `read` does not check this.
  bool has(std::uint64_t count, std::uint64_t width) const {
    return width == 0 || count <= (bits_ - position_) / width;
  }

  // Reads the next `width` (0 to 64) bits.
  std::uint64_t read(unsigned width) {
    if (width == 0) return 0;
    const std::size_t byte = static_cast<std::size_t>(position_ / 8);
    const unsigned skip = static_cast<unsigned>(position_ % 8);
    if (skip + width <= 64 && byte + 8 <= in_.size()) {
      position_ += width;
      return load_be<std::uint64_t>(in_.data() + byte) << skip >> (64 - width);
    }
    return read_slowly(width);
  }

 private:
  // Reads at the end of the input, and values that touch nine bytes.
  std::uint64_t read_slowly(unsigned width) {
    std::uint64_t value = 0;
    while (width > 0) {
      const unsigned left = 8 - static_cast<unsigned>(position_ % 8);
      const unsigned take = left < width ? left : width;
      const unsigned byte = std::to_integer<unsigned>(in_[static_cast<std::size_t>(position_ / 8)]);
      value = value << take | (byte >> (left - take) & ((1U << take) - 1));
      position_ += take;
      width -= take;
    }
    return value;
  }

  ByteSpan in_;
  std::uint64_t bits_;
  std::uint64_t position_ = 0;
};

}  // namespace h5mount::filter

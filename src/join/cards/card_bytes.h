// Numbers and texts as bytes, one behind the other, and back. Threads: one.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/base/bytes.h"

namespace h5mount::join {

class CardWriter {
 public:
  // Seven bits a byte, the lowest first: most numbers are small.
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  template <class Enum>
  void code(Enum value) {
    byte(static_cast<std::uint8_t>(value));
  }
  void word(std::uint64_t value) {
    for (unsigned i = 0; i < 64; i += 8) byte(static_cast<std::uint8_t>(value >> i));
  }
  void real(double value) { word(std::bit_cast<std::uint64_t>(value)); }
  void text(std::string_view value) { bytes(as_bytes(value)); }
  void bytes(ByteSpan value) {
    number(value.size());
    out_.insert(out_.end(), value.begin(), value.end());
  }
  void byte(std::uint8_t value) { out_.push_back(std::byte{value}); }

  const std::vector<std::byte>& written() const { return out_; }
  std::vector<std::byte> take() { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
};

// Once anything is wrong, it gives zeros and empty texts, and `ok` says so.
class CardReader {
 public:
  explicit CardReader(ByteSpan bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      out |= std::uint64_t{next & 0x7FU} << shift;
      if ((next & 0x80) == 0) return out;
    }
    refuse();
    return 0;
  }
  template <std::unsigned_integral Number>
  Number number_as() {
    const std::uint64_t out = number();
    if (static_cast<Number>(out) != out) refuse();
    return ok() ? static_cast<Number>(out) : Number{0};
  }
  template <class Enum>
  Enum code(Enum last) {
    const std::uint8_t out = byte();
    if (out > static_cast<std::uint8_t>(last)) refuse();
    return static_cast<Enum>(ok() ? out : 0);
  }
  bool flag() { return code(std::uint8_t{1}) != 0; }
  std::uint64_t word() {
    const ByteSpan taken = take(8);
    return taken.size() == 8 ? load_le<std::uint64_t>(taken.data()) : 0;
  }
  double real() { return std::bit_cast<double>(word()); }
  std::string text() { return std::string(as_text(bytes())); }
  ByteSpan bytes() { return take(number()); }
  std::uint8_t byte() {
    const ByteSpan taken = take(1);
    return taken.empty() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(taken[0]);
  }
  // How many things of at least a byte follow.
  std::size_t count() {
    const std::uint64_t out = number();
    if (out > rest_.size()) refuse();
    return ok() ? static_cast<std::size_t>(out) : 0;
  }

  void require(bool condition) {
    if (!condition) refuse();
  }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && rest_.empty(); }

 private:
  ByteSpan take(std::uint64_t count) {
    if (count > rest_.size()) refuse();
    if (!ok_) return {};
    const ByteSpan out = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(static_cast<std::size_t>(count));
    return out;
  }
  void refuse() {
    ok_ = false;
    rest_ = {};
  }

  ByteSpan rest_;
  bool ok_ = true;
};

}  // namespace h5mount::join

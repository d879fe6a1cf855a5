// AddressTable: a small number for each of many addresses, in 11 to 22 bytes each: open addressing in one
// array.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace h5mount::salvage {

class AddressTable {
 public:
  static constexpr std::uint8_t kMaxValue = 3;

  // Returns false if the address has a value already, which is kept. Precondition: value <= kMaxValue.
  bool add(std::uint64_t address, std::uint8_t value = 0) {
    if (4 * (size_ + 1) > 3 * slots_.size()) grow();
    std::uint64_t& slot = slots_[place_of(slots_, address)];
    if (slot != kFree) return false;
    slot = (address + 1) << kValueBits | value;
    ++size_;
    return true;
  }
  std::optional<std::uint8_t> find(std::uint64_t address) const {
    if (slots_.empty()) return std::nullopt;
    const std::uint64_t slot = slots_[place_of(slots_, address)];
    return slot == kFree ? std::nullopt : std::optional(static_cast<std::uint8_t>(slot & kMaxValue));
  }
  bool contains(std::uint64_t address) const { return find(address).has_value(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Visits all addresses in no particular order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const std::uint64_t slot : slots_)
      if (slot != kFree) visit((slot >> kValueBits) - 1, static_cast<std::uint8_t>(slot & kMaxValue));
  }

 private:
  static constexpr unsigned kValueBits = 2;  // addresses are below 2^62 - 1: no file is longer
  static constexpr std::uint64_t kFree = 0;
  static constexpr std::size_t kFewest = 64;

  // The slot of the address, or the free slot for it. The number of slots is a power of two, and some are
  // free.
  static std::size_t place_of(const std::vector<std::uint64_t>& slots, std::uint64_t address) {
    const std::size_t mask = slots.size() - 1;
    std::uint64_t hash = address * 0x9E37'79B9'7F4A'7C15U;
    hash ^= hash >> 32;
    std::size_t at = static_cast<std::size_t>(hash) & mask;
    while (slots[at] != kFree && (slots[at] >> kValueBits) != address + 1) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<std::uint64_t> larger(slots_.empty() ? kFewest : 2 * slots_.size(), kFree);
    for_each([&](std::uint64_t address, std::uint8_t value) {
      larger[place_of(larger, address)] = (address + 1) << kValueBits | value;
    });
    slots_.swap(larger);
  }

  std::vector<std::uint64_t> slots_;
  std::size_t size_ = 0;
};

}  // namespace h5mount::salvage

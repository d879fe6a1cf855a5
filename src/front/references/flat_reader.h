// Reads FlatBuffers (https://flatbuffers.dev/internals) of which nothing is known to be right: what lies
// outside of the buffer is zero or empty, and `damaged` tells of it. Threads: one.
#pragma once

#include <cstdint>
#include <string_view>

#include "h5mount/base/bytes.h"

namespace h5mount::front {

class FlatReader {
 public:
  explicit FlatReader(std::string_view bytes) : bytes_(bytes) {}

  bool damaged() const { return damaged_; }

  // A little-endian number of so many bytes.
  std::uint64_t number(std::uint64_t at, std::size_t bytes) {
    const std::string_view found = part(at, bytes);
    return found.empty() ? 0 : load_le_width(as_bytes(found).data(), bytes);
  }
  // The place that an offset points to.
  std::uint64_t target(std::uint64_t at) {
    const std::uint64_t distance = number(at, 4);
    if (distance == 0) damaged_ = true;
    return at + distance;
  }
  std::string_view part(std::uint64_t at, std::uint64_t bytes) {
    if (at <= bytes_.size() && bytes <= bytes_.size() - at)
      return bytes_.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(bytes));
    damaged_ = true;
    return {};
  }

 private:
  std::string_view bytes_;
  bool damaged_ = false;
};

// Elements of so many bytes each; offsets of tables and texts have four.
struct FlatVector {
  FlatReader* in = nullptr;
  std::uint64_t begin = 0, count = 0, element = 4;
  std::string_view bytes() const {
    return count == 0 ? std::string_view() : in->part(begin, count * element);
  }
};

class FlatTable {
 public:
  static FlatTable root(FlatReader& in) { return {in, in.target(0)}; }
  static FlatTable of(const FlatVector& tables, std::uint64_t number) {
    return {*tables.in, tables.in->target(tables.begin + 4 * number)};
  }

  bool has(unsigned field) const { return place(field) != 0; }
  std::uint64_t number(unsigned field, std::size_t bytes) const {
    const std::uint64_t at = place(field);
    return at == 0 ? 0 : in_->number(at, bytes);
  }
  std::string_view structure(unsigned field, std::uint64_t bytes) const {
    const std::uint64_t at = place(field);
    return at == 0 ? std::string_view() : in_->part(at, bytes);
  }
  FlatVector vector(unsigned field, std::uint64_t element = 4) const {
    const std::uint64_t at = place(field);
    if (at == 0) return {in_};
    const std::uint64_t begin = in_->target(at), count = in_->number(begin, 4);
    // There are no more elements than bytes.
    if (in_->part(begin + 4, count * element).empty()) return {in_};
    return {in_, begin + 4, count, element};
  }
  std::string_view text(unsigned field) const { return vector(field, 1).bytes(); }

 private:
  FlatTable(FlatReader& in, std::uint64_t at) : in_(&in), at_(at) {}

  // Of a field; 0: it is absent.
  std::uint64_t place(unsigned field) const {
    const auto back = static_cast<std::int32_t>(in_->number(at_, 4));
    const std::uint64_t vtable = at_ - static_cast<std::uint64_t>(static_cast<std::int64_t>(back));
    if (6 + 2 * std::uint64_t{field} > in_->number(vtable, 2)) return 0;
    const std::uint64_t inside = in_->number(vtable + 4 + 2 * std::uint64_t{field}, 2);
    return inside == 0 ? 0 : at_ + inside;
  }

  FlatReader* in_;
  std::uint64_t at_;
};

}  // namespace h5mount::front

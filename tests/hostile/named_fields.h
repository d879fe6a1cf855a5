// Builds one structure of named fields, so that a test can set one to an invalid value: the checksum is
// recomputed, and the decoder must fail with the expected code, structure, field and offset.
//
// Names are those of the decoders. A repeated name has a suffix ("chunk_offset[1]"), which errors do not
// contain.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "h5mount/base/checksum.h"
#include "h5mount/format/cursor.h"

namespace h5mount::test {

class NamedFields {
 public:
  static constexpr std::uint64_t kAt = 0x4000;  // file offset of the structure

  explicit NamedFields(std::string_view structure, format::FileSizes sizes = {})
      : structure_(structure), sizes_(sizes) {}

  NamedFields& uint(std::string_view name, std::uint64_t value, std::size_t width) {
    fields_.push_back({std::string(name), bytes_.size(), width});
    bytes_.resize(bytes_.size() + width);
    put(fields_.back(), value);
    return *this;
  }
  NamedFields& u8(std::string_view name, std::uint64_t value) { return uint(name, value, 1); }
  NamedFields& u16(std::string_view name, std::uint64_t value) { return uint(name, value, 2); }
  NamedFields& u32(std::string_view name, std::uint64_t value) { return uint(name, value, 4); }
  NamedFields& u64(std::string_view name, std::uint64_t value) { return uint(name, value, 8); }
  NamedFields& address(std::string_view name, std::uint64_t value) {
    return uint(name, value, sizes_.offsets);
  }
  NamedFields& length(std::string_view name, std::uint64_t value) {
    return uint(name, value, sizes_.lengths);
  }
  NamedFields& text(std::string_view name, std::string_view value) {
    uint(name, 0, value.size());
    std::ranges::copy(as_bytes(value), bytes_.end() - static_cast<std::ptrdiff_t>(value.size()));
    return *this;
  }
  NamedFields& zeros(std::size_t count) { return uint("zeros", 0, count); }
  // Appends the lookup3 checksum of all bytes before it.
  NamedFields& checksum() {
    u32("checksum", 0);
    sum_at_ = fields_.back().position;
    return fix_checksum();
  }

  NamedFields with(std::string_view name, std::uint64_t value) const {
    NamedFields changed = *this;
    changed.put(field(name), value);
    return name == "checksum" ? changed : changed.fix_checksum();
  }

  format::Cursor cursor() const { return {bytes_, kAt, structure_, sizes_}; }
  std::string_view structure() const { return structure_; }
  std::uint64_t offset_of(std::string_view name) const { return kAt + field(name).position; }
  std::size_t size() const { return bytes_.size(); }

 private:
  struct Place {
    std::string name;
    std::size_t position, width;
  };

  const Place& field(std::string_view name) const {
    const auto found = std::ranges::find(fields_, name, &Place::name);
    if (found == fields_.end()) throw std::logic_error("no field " + std::string(name));
    return *found;
  }
  void put(const Place& place, std::uint64_t value) {
    for (std::size_t i = 0; i < place.width; ++i)
      bytes_[place.position + i] = static_cast<std::byte>(i < 8 ? value >> (8 * i) : 0);
  }
  NamedFields& fix_checksum() {
    if (sum_at_) put({"", *sum_at_, 4}, lookup3_checksum(ByteSpan(bytes_).first(*sum_at_)));
    return *this;
  }

  std::string_view structure_;
  format::FileSizes sizes_;
  std::vector<std::byte> bytes_;
  std::vector<Place> fields_;
  std::optional<std::size_t> sum_at_;
};

struct InvalidField {
  std::string field;
  std::uint64_t value;
  ErrorCode code = ErrorCode::InvalidValue;
  std::string error_at = {};  // the field of the error where it differs from the changed one
  std::string name = {};      // its name in the error where that is a part of the field
};

template <class Decode>
void expect_rejected(const NamedFields& valid, const InvalidField& invalid, Decode decode) {
  const std::string what = invalid.field + " = " + std::to_string(invalid.value);
  format::Cursor unchanged = valid.cursor();
  const auto accepted = decode(unchanged);
  ASSERT_TRUE(accepted) << what << ": not valid before the change: " << accepted.error().text();
  const NamedFields changed = valid.with(invalid.field, invalid.value);
  format::Cursor cursor = changed.cursor();
  const auto rejected = decode(cursor);
  ASSERT_FALSE(rejected) << valid.structure() << ": " << what;
  const std::string at = invalid.error_at.empty() ? invalid.field : invalid.error_at;
  const Error& error = rejected.error();
  EXPECT_EQ(error.code(), invalid.code) << what << ": " << error.text();
  EXPECT_EQ(error.structure(), valid.structure()) << what << ": " << error.text();
  EXPECT_EQ(error.field(), invalid.name.empty() ? at.substr(0, at.find('[')) : invalid.name)
      << what << ": " << error.text();
  EXPECT_EQ(error.offset(), valid.offset_of(at)) << what << ": " << error.text();
}

template <class Decode>
void expect_each_rejected(const NamedFields& valid, Decode decode,
                          std::initializer_list<InvalidField> cases) {
  for (const InvalidField& invalid : cases) expect_rejected(valid, invalid, decode);
  // Every truncation is an error, without reads beyond the end.
  format::Cursor whole = valid.cursor();
  for (std::size_t n = 0; n < valid.size(); ++n) {
    format::Cursor cut(whole.rest().first(n), NamedFields::kAt, valid.structure(), whole.sizes());
    EXPECT_FALSE(decode(cut)) << valid.structure() << " cut at " << n;
  }
}

}  // namespace h5mount::test

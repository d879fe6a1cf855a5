// Builds one structure of named fields, so that a test can lie in one of them: the field gets another value,
// the checksum is made right again, and the decoder must refuse with the code, structure, field and offset
// expected.
//
// Names are those of the decoders. A name that occurs again takes a suffix ("chunk_offset[1]") that no error
// shows.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "h5mount/base/checksum.h"
#include "h5mount/format/cursor.h"

namespace h5mount::test {

class NamedFields {
 public:
  static constexpr std::uint64_t kAt = 0x4000;  // where the structure is said to lie

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
  // The lookup3 checksum of all that stands before it.
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

struct FieldLie {
  std::string field;
  std::uint64_t value;
  ErrorCode code = ErrorCode::InvalidValue;
  std::string refused_at = {};  // the field that the error points at, where it is another one
  std::string name = {};        // as the error calls it, where it is a part of that field
};

template <class Decode>
void expect_refused(const NamedFields& sound, const FieldLie& lie, Decode decode) {
  const std::string what = lie.field + " = " + std::to_string(lie.value);
  format::Cursor honest = sound.cursor();
  const auto accepted = decode(honest);
  ASSERT_TRUE(accepted) << what << ": not sound to begin with: " << accepted.error().text();
  const NamedFields lying = sound.with(lie.field, lie.value);
  format::Cursor cursor = lying.cursor();
  const auto refused = decode(cursor);
  ASSERT_FALSE(refused) << sound.structure() << ": " << what;
  const std::string at = lie.refused_at.empty() ? lie.field : lie.refused_at;
  const Error& error = refused.error();
  EXPECT_EQ(error.code(), lie.code) << what << ": " << error.text();
  EXPECT_EQ(error.structure(), sound.structure()) << what << ": " << error.text();
  EXPECT_EQ(error.field(), lie.name.empty() ? at.substr(0, at.find('[')) : lie.name)
      << what << ": " << error.text();
  EXPECT_EQ(error.offset(), sound.offset_of(at)) << what << ": " << error.text();
}

template <class Decode>
void expect_each_refused(const NamedFields& sound, Decode decode, std::initializer_list<FieldLie> lies) {
  for (const FieldLie& lie : lies) expect_refused(sound, lie, decode);
  // Every cut is refused, and nothing is read beyond it.
  format::Cursor whole = sound.cursor();
  for (std::size_t n = 0; n < sound.size(); ++n) {
    format::Cursor cut(whole.rest().first(n), NamedFields::kAt, sound.structure(), whole.sizes());
    EXPECT_FALSE(decode(cut)) << sound.structure() << " cut at " << n;
  }
}

}  // namespace h5mount::test

// Cursor reads the bytes of an on-disk structure from a span and cannot leave it. It knows the absolute file
// offset of each byte, the name of the structure and the file's sizes of offsets and lengths. Each read names
// its field; the cursor keeps name, offset and value of the field read last, so that a check after the read
// reports the field's own offset:
//
//   header.page_bits = cursor.u8("page_bits");
//   cursor.require(header.page_bits < 64, "not below 64");
//
// A later check (for example after the checksum, so that damage is reported as such) saves the field first:
// `const Field page_bits = cursor.last();` and passes it to `require`.
//
// Errors are sticky: after the first failure reads return zero or empty spans, and `finish(value)` returns
// that error. The size of a container must come from `count`.
//
// Threads: one at a time. The cursor does not own the span.
//
// The decode_* functions of this module are pure: each takes a cursor over the bytes of one structure and
// returns the decoded and checked struct, or the cursor's first error. Threads: any.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "h5mount/base/bytes.h"
#include "h5mount/base/error.h"

namespace h5mount::format {

// "Size of Offsets" and "Size of Lengths" of the superblock: 2, 4, 8, 16 or 32. Values beyond 64 bits are
// refused where they are met.
struct FileSizes {
  std::uint8_t offsets = 8;
  std::uint8_t lengths = 8;
};

inline constexpr std::uint64_t kUndefinedAddress = ~std::uint64_t{0};  // all ones at every width
inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

// An address that no file reaches, for what does not fit 64 bits.
inline constexpr std::uint64_t kUnreachableAddress = kUndefinedAddress - 1;

// The bytes that a number takes, at least one.
inline unsigned bytes_for(std::uint64_t value) {
  return (static_cast<unsigned>(std::bit_width(value | 1)) + 7) / 8;
}

// The address of `width` bytes at `at`, for records that are checked when they are followed.
inline std::uint64_t load_address(const std::byte* at, std::size_t width) {
  if (width == 8) return load_le<std::uint64_t>(at);
  if (width < 8) {
    const std::uint64_t value = load_le_width(at, width);
    return value == (std::uint64_t{1} << (8 * width)) - 1 ? kUndefinedAddress : value;
  }
  const auto all = [&](std::size_t from, std::byte byte) {
    return std::all_of(at + from, at + width, [byte](std::byte b) { return b == byte; });
  };
  if (all(0, std::byte{0xFF})) return kUndefinedAddress;
  return all(8, std::byte{0}) ? std::min(load_le<std::uint64_t>(at), kUnreachableAddress)
                              : kUnreachableAddress;
}

// A field that was read, as errors report it.
struct Field {
  std::string_view name;     // static storage
  std::uint64_t offset = 0;  // absolute file offset of its first byte
  std::uint64_t value = 0;   // 0 for fields that are no integers

  // Some bits of this field, or a number derived from it, under their own name.
  Field part(std::string_view part_name, std::uint64_t part_value) const {
    return {part_name, offset, part_value};
  }
};

class Cursor {
 public:
  // `offset` is the absolute file offset of bytes[0]; `structure` has static storage.
  Cursor(ByteSpan bytes, std::uint64_t offset, std::string_view structure, FileSizes sizes)
      : bytes_(bytes), offset_(offset), structure_(structure), sizes_(sizes) {}

  FileSizes sizes() const { return sizes_; }
  // For the superblock, which stores the sizes.
  void set_sizes(FileSizes sizes) { sizes_ = sizes; }

  // ---- reads

  // If `read` is not null, it is set to the field, for a later check.
  std::uint8_t u8(std::string_view field, Field* read = nullptr) {
    return static_cast<std::uint8_t>(uint(1, field, read));
  }
  std::uint16_t u16(std::string_view field, Field* read = nullptr) {
    return static_cast<std::uint16_t>(uint(2, field, read));
  }
  std::uint32_t u32(std::string_view field, Field* read = nullptr) {
    return static_cast<std::uint32_t>(uint(4, field, read));
  }
  std::uint64_t u64(std::string_view field) { return uint(8, field); }

  // A little-endian unsigned integer of `width` bytes. Fails with OutOfRange if it does not fit 64 bits.
  std::uint64_t uint(std::size_t width, std::string_view field, Field* read = nullptr) {
    const ByteSpan b = bytes(width, field);
    if (width > 8) [[unlikely]]
      value_ = wide_value(b);
    else
      value_ = b.size() == width ? load_le_width(b.data(), width) : 0;
    if (read != nullptr) *read = last();
    return value_;
  }

  // A file address: all ones at its width is kUndefinedAddress.
  std::uint64_t address(std::string_view field) { return widened(sizes_.offsets, field); }
  // A length or extent that may be unlimited: all ones at its width is kUnlimited.
  std::uint64_t length(std::string_view field) { return widened(sizes_.lengths, field); }
  // A number of `size of lengths` bytes for which all ones means nothing special.
  std::uint64_t plain_length(std::string_view field) { return uint(sizes_.lengths, field); }
  std::uint64_t widened(std::size_t width, std::string_view field) {
    if (width > 8) [[unlikely]]
      return wide_or_undefined(width, field);
    const std::uint64_t value = uint(width, field);
    const bool all_ones = width > 0 && width < 8 && value == (std::uint64_t{1} << (8 * width)) - 1;
    value_ = all_ones ? ~std::uint64_t{0} : value;
    return value_;
  }

  ByteSpan bytes(std::size_t count, std::string_view field) {
    if (error_) [[unlikely]]
      return {};
    begin_field(field);
    if (count > bytes_.size() - position_) [[unlikely]] {
      refuse_short(count);
      return {};
    }
    const ByteSpan out = bytes_.subspan(position_, count);
    position_ += count;
    return out;
  }

  void skip(std::size_t count, std::string_view field) { (void)bytes(count, field); }

  // A cursor over the next `count` bytes, which this one skips. Its error is not copied back: see
  // `take_error`.
  Cursor part(std::size_t count, std::string_view field) { return part(count, field, structure_); }
  Cursor part(std::size_t count, std::string_view field, std::string_view structure) {
    const std::uint64_t at = here();
    return {bytes(count, field), at, structure, sizes_};
  }
  void take_error(const Cursor& inner) {
    if (inner.error_) fail(*inner.error_);
  }

  // Text up to a NUL, which is consumed; without a NUL the error is Truncated.
  std::string_view c_string(std::string_view field);

  // ---- checks

  // The field read last.
  Field last() const { return {field_, offset_ + field_position_, value_}; }

  // Fails with InvalidValue (or `code`) at `field`, or the field read last, unless `condition`.
  bool require(bool condition, std::string_view why, ErrorCode code = ErrorCode::InvalidValue) {
    return require(condition, last(), why, code);
  }
  bool require(bool condition, const Field& field, std::string_view why,
               ErrorCode code = ErrorCode::InvalidValue) {
    if (!condition) [[unlikely]]
      refuse(field, why, code);
    return ok();
  }
  // Fails unless the field's value equals `expected`, which the error reports.
  bool require_equal(std::uint64_t expected, std::string_view why, ErrorCode code = ErrorCode::InvalidValue) {
    return require_equal(expected, last(), why, code);
  }
  bool require_equal(std::uint64_t expected, const Field& field, std::string_view why,
                     ErrorCode code = ErrorCode::InvalidValue) {
    if (field.value != expected) [[unlikely]]
      refuse(field, why, code, expected);
    return ok();
  }
  // Fails with LimitExceeded if the field's value is above `limit`.
  bool require_at_most(std::uint64_t limit, std::string_view why) {
    return require_at_most(limit, last(), why);
  }
  bool require_at_most(std::uint64_t limit, const Field& field, std::string_view why) {
    if (field.value > limit) [[unlikely]]
      refuse(field, why, ErrorCode::LimitExceeded, limit);
    return ok();
  }

  // The field read last as a count that may size a container. Fails with Truncated if that many items of at
  // least `min_item_bytes` each do not fit in the remaining bytes, and with LimitExceeded if it is above
  // `limit`.
  std::size_t count(std::size_t min_item_bytes, std::uint64_t limit) {
    return count(last(), min_item_bytes, limit);
  }
  // The same for a field that was read earlier.
  std::size_t count(const Field& field, std::size_t min_item_bytes, std::uint64_t limit);

  // Reads a signature and compares it with `expected`.
  bool signature(std::string_view expected);

  // Reads a version byte; fails with UnsupportedVersion if it is outside [lowest, highest].
  std::uint8_t version(std::uint8_t lowest, std::uint8_t highest);

  // Computes the lookup3 checksum of all bytes from the span's start, then reads the stored one and compares.
  void checksum();

  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }

  // ---- state

  bool ok() const { return !error_.has_value(); }
  const std::optional<Error>& error() const { return error_; }
  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }
  std::uint64_t here() const { return offset_ + position_; }
  ByteSpan rest() const { return bytes_.subspan(position_); }
  std::string_view structure() const { return structure_; }
  void seek(std::size_t position) { position_ = std::min(position, bytes_.size()); }

  template <class T>
  Result<T> finish(T value) const {
    if (error_) [[unlikely]]
      return h5mount::fail(*error_);
    return value;
  }
  Status finish() const {
    if (error_) [[unlikely]]
      return h5mount::fail(*error_);
    return {};
  }

 private:
  void begin_field(std::string_view field) {
    field_ = field;
    field_position_ = position_;
    value_ = 0;
  }
  // Fields of more than 8 bytes.
  [[gnu::cold]] std::uint64_t wide_value(ByteSpan bytes);
  [[gnu::cold]] std::uint64_t wide_or_undefined(std::size_t width, std::string_view field);
  // Failures, out of line to keep the inlined reads small.
  [[gnu::cold]] void refuse_short(std::size_t wanted);
  [[gnu::cold]] void refuse(const Field& field, std::string_view why, ErrorCode code,
                            std::optional<std::uint64_t> expected = std::nullopt);

  ByteSpan bytes_;
  std::uint64_t offset_;
  std::string_view structure_;
  std::size_t position_ = 0;
  FileSizes sizes_;
  std::string_view field_;  // read last: name, position in bytes_, value
  std::size_t field_position_ = 0;
  std::uint64_t value_ = 0;
  std::optional<Error> error_;
};

}  // namespace h5mount::format

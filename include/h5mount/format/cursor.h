// Cursor: how every byte of the format is read. It walks a span, knows the absolute file offset of each byte and
// the name of the structure, and cannot leave its span. Its error is sticky: after the first failure reads give
// zero (empty spans), and `finish(value)` gives that first error. Each read names its field, for the message.
//
// Not for sharing among threads. Borrows the span.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "h5mount/base/bytes.h"
#include "h5mount/base/checksum.h"
#include "h5mount/base/error.h"

namespace h5mount {

// "Size of Offsets" and "Size of Lengths" of the superblock: 2, 4 or 8 (16 is refused at the superblock).
struct FileSizes {
  std::uint8_t offsets = 8;
  std::uint8_t lengths = 8;
};

inline constexpr std::uint64_t kUndefinedAddress = ~std::uint64_t{0};  // all ones at every width
inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

class Cursor {
 public:
  // `offset` is the absolute file offset of bytes[0]; `structure` has static storage.
  Cursor(ByteSpan bytes, std::uint64_t offset, std::string_view structure)
      : bytes_(bytes), offset_(offset), structure_(structure) {}

  std::uint8_t u8(std::string_view field) { return static_cast<std::uint8_t>(uint(1, field)); }
  std::uint16_t u16(std::string_view field) { return static_cast<std::uint16_t>(uint(2, field)); }
  std::uint32_t u32(std::string_view field) { return static_cast<std::uint32_t>(uint(4, field)); }
  std::uint64_t u64(std::string_view field) { return uint(8, field); }

  // A little-endian unsigned integer of `width` bytes (0 to 8).
  std::uint64_t uint(std::size_t width, std::string_view field) {
    const ByteSpan b = bytes(width, field);
    return b.size() == width && width <= 8 ? load_le_width(b.data(), width) : 0;
  }

  // A file address: all ones at its width is kUndefinedAddress.
  std::uint64_t address(FileSizes sizes, std::string_view field) { return widened(sizes.offsets, field); }
  // A length or extent: all ones at its width is kUnlimited.
  std::uint64_t length(FileSizes sizes, std::string_view field) { return widened(sizes.lengths, field); }
  std::uint64_t widened(std::size_t width, std::string_view field) {
    const std::uint64_t value = uint(width, field);
    return ok() && width > 0 && width < 8 && value == (std::uint64_t{1} << (8 * width)) - 1 ? ~std::uint64_t{0}
                                                                                          : value;
  }

  ByteSpan bytes(std::size_t count, std::string_view field) {
    if (error_) return {};
    if (count > bytes_.size() - position_) {
      error_ = Error(ErrorCode::Truncated, structure_, field, here())
                   .with_found(bytes_.size() - position_)
                   .with_expected(count)
                   .with_detail("bytes left");
      return {};
    }
    const ByteSpan out = bytes_.subspan(position_, count);
    position_ += count;
    return out;
  }

  void skip(std::size_t count, std::string_view field) { (void)bytes(count, field); }

  // Text up to a NUL, which is consumed; the NUL must be there.
  std::string_view c_string(std::string_view field) {
    if (error_) return {};
    const auto rest = bytes_.subspan(position_);
    const auto nul = std::ranges::find(rest, std::byte{0});
    if (nul == rest.end()) {
      error_ = Error(ErrorCode::Truncated, structure_, field, here()).with_detail("no terminating NUL");
      return {};
    }
    const auto length = static_cast<std::size_t>(nul - rest.begin());
    position_ += length + 1;
    return as_text(rest.first(length));
  }

  // Checks the four signature bytes.
  bool signature(std::string_view four) {
    const std::uint64_t at = here();
    const ByteSpan b = bytes(four.size(), "signature");
    if (!error_ && as_text(b) != four)
      error_ = Error(ErrorCode::BadSignature, structure_, "signature", at).with_detail(std::string("expected ").append(four));
    return ok();
  }

  // A version byte that must lie in [lowest, highest].
  std::uint8_t version(std::uint8_t lowest, std::uint8_t highest) {
    const std::uint64_t at = here();
    const std::uint8_t v = u8("version");
    if (!error_ && (v < lowest || v > highest)) {
      error_ = Error(ErrorCode::UnsupportedVersion, structure_, "version", at).with_found(v).with_expected(highest);
      return 0;
    }
    return v;
  }

  // A count that a container may be sized by: refused where `found` items of at least `min_item_bytes` each cannot
  // fit in the bytes left, or above `limit`.
  std::size_t count(std::uint64_t found, std::size_t min_item_bytes, std::uint64_t limit, std::string_view field) {
    if (error_) return 0;
    if (found > limit) {
      error_ = Error(ErrorCode::LimitExceeded, structure_, field, here()).with_found(found).with_expected(limit);
      return 0;
    }
    if (min_item_bytes != 0 && found > remaining() / min_item_bytes) {
      error_ = Error(ErrorCode::Truncated, structure_, field, here())
                   .with_found(found)
                   .with_detail("more items than the bytes left can hold");
      return 0;
    }
    return static_cast<std::size_t>(found);
  }

  // The lookup3 checksum of all bytes from the span's start to here, then the four bytes that must equal it.
  void checksum(std::string_view field = "checksum") { checksum_from(0, field); }
  void checksum_from(std::size_t start, std::string_view field = "checksum") {
    if (error_) return;
    const std::uint32_t computed = lookup3_checksum(bytes_.subspan(start, position_ - start));
    const std::uint64_t at = here();
    const std::uint32_t stored = u32(field);
    if (!error_ && stored != computed && metadata_checksums_enabled())
      error_ = Error(ErrorCode::ChecksumMismatch, structure_, field, at).with_found(stored).with_expected(computed);
  }

  // Fails here with InvalidValue (or `code`) unless `condition`.
  bool require(bool condition, std::string_view field, std::string_view why, std::uint64_t found = 0,
               ErrorCode code = ErrorCode::InvalidValue) {
    if (!error_ && !condition)
      error_ = Error(code, structure_, field, here()).with_found(found).with_detail(std::string(why));
    return ok();
  }

  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }

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
    if (error_) return h5mount::fail(*error_);
    return value;
  }
  Status finish() const {
    if (error_) return h5mount::fail(*error_);
    return {};
  }

 private:
  ByteSpan bytes_;
  std::uint64_t offset_;
  std::string_view structure_;
  std::size_t position_ = 0;
  std::optional<Error> error_;
};

}  // namespace h5mount

#include "h5mount/format/cursor.h"

#include "h5mount/base/checksum.h"

namespace h5mount::format {

std::string_view Cursor::c_string(std::string_view field) {
  if (error_) return {};
  begin_field(field);
  const ByteSpan rest = bytes_.subspan(position_);
  const auto nul = std::ranges::find(rest, std::byte{0});
  if (nul == rest.end()) {
    error_ = Error(ErrorCode::Truncated, structure_, field, here()).with_detail("no terminating NUL");
    return {};
  }
  const auto length = static_cast<std::size_t>(nul - rest.begin());
  position_ += length + 1;
  return as_text(rest.first(length));
}

std::size_t Cursor::count(const Field& field, std::size_t min_item_bytes, std::uint64_t limit) {
  if (error_) return 0;
  if (field.value > limit)
    error_ = Error(ErrorCode::LimitExceeded, structure_, field.name, field.offset)
                 .with_found(field.value)
                 .with_expected(limit);
  else if (min_item_bytes != 0 && field.value > remaining() / min_item_bytes)
    error_ = Error(ErrorCode::Truncated, structure_, field.name, field.offset)
                 .with_found(field.value)
                 .with_detail("more items than the bytes left can hold");
  return error_ ? 0 : static_cast<std::size_t>(field.value);
}

bool Cursor::signature(std::string_view expected) {
  const ByteSpan b = bytes(expected.size(), "signature");
  if (!error_ && as_text(b) != expected)
    error_ = Error(ErrorCode::BadSignature, structure_, field_, last().offset)
                 .with_detail(std::string("expected ").append(expected));
  return ok();
}

std::uint8_t Cursor::version(std::uint8_t lowest, std::uint8_t highest) {
  const std::uint8_t found = u8("version");
  if (error_ || (found >= lowest && found <= highest)) return found;
  error_ = Error(ErrorCode::UnsupportedVersion, structure_, field_, last().offset)
               .with_found(found)
               .with_expected(highest);
  return 0;
}

void Cursor::checksum() {
  if (error_) return;
  const std::uint32_t computed = lookup3_checksum(bytes_.first(position_));
  const std::uint32_t stored = u32("checksum");
  count_metadata_checksum();
  if (!error_ && stored != computed && metadata_checksums_enabled())
    error_ = Error(ErrorCode::ChecksumMismatch, structure_, field_, last().offset)
                 .with_found(stored)
                 .with_expected(computed);
}

std::uint64_t Cursor::wide_value(ByteSpan bytes) {
  if (bytes.size() <= 8) return 0;  // the cursor has failed
  const auto beyond = [](std::byte byte) { return byte != std::byte{0}; };
  if (std::ranges::any_of(bytes.subspan(8), beyond)) {
    refuse(last(), "does not fit 64 bits", ErrorCode::OutOfRange);
    return 0;
  }
  return load_le<std::uint64_t>(bytes.data());
}

std::uint64_t Cursor::wide_or_undefined(std::size_t width, std::string_view field) {
  const ByteSpan b = bytes(width, field);
  const bool all_ones =
      b.size() == width && std::ranges::all_of(b, [](std::byte byte) { return byte == std::byte{0xFF}; });
  value_ = all_ones ? ~std::uint64_t{0} : wide_value(b);
  // The largest number of 64 bits means undefined or unlimited to all who read on.
  if (!all_ones && value_ == ~std::uint64_t{0}) refuse(last(), "does not fit 64 bits", ErrorCode::OutOfRange);
  return value_;
}

void Cursor::refuse_short(std::size_t wanted) {
  error_ = Error(ErrorCode::Truncated, structure_, field_, here())
               .with_found(bytes_.size() - position_)
               .with_expected(wanted)
               .with_detail("bytes left");
}

void Cursor::refuse(const Field& field, std::string_view why, ErrorCode code,
                    std::optional<std::uint64_t> expected) {
  if (error_) return;
  Error error = Error(code, structure_, field.name, field.offset).with_found(field.value);
  if (expected) error = error.with_expected(*expected);
  error_ = error.with_detail(std::string(why));
}

}  // namespace h5mount::format

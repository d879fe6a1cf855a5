// Fill value message, versions 1 and 2:
//   version (1) | allocation time (1) | write time (1) | defined (1) | [defined: size (4) | value]
//   size 0 is the default value, zeros
// Version 3:
//   version (1) | flags (1) | [size (4) | value]
//   flags: bits 0-1 allocation time, 2-3 write time, 4 undefined, 5 size and value present
// Fill value message (old):
//   size (4) | value
#include "h5mount/format/messages.h"

namespace h5mount::format {

namespace {

constexpr std::uint32_t kNoSize = 0xFFFF'FFFF;  // -1: written by versions 1 and 2 for an undefined value

void decode_sized_value(Cursor& cursor, FillValue& fill) {
  const std::uint32_t size = cursor.u32("size");
  if (size == kNoSize) return;
  const ByteSpan value = cursor.bytes(size, "value");
  fill.value.assign(value.begin(), value.end());
}

// When values are written concerns writers alone.
FillTime fill_time_of(unsigned value) {
  return value <= 2 ? static_cast<FillTime>(value) : FillTime::IfSet;
}

}  // namespace

Result<FillValue> decode_fill_value(Cursor& cursor) {
  FillValue fill;
  const std::uint8_t version = cursor.version(1, 3);
  if (version == 3) {
    const std::uint8_t flags = cursor.u8("flags");
    fill.allocation_time = flags & 0x03;
    fill.time = fill_time_of((flags >> 2) & 0x03U);
    fill.defined = (flags & 0x10) == 0;  // decides, whether a value is there or not
    if (fill.defined && (flags & 0x20) != 0) decode_sized_value(cursor, fill);
    return cursor.finish(std::move(fill));
  }
  fill.allocation_time = cursor.u8("allocation_time");
  fill.time = fill_time_of(cursor.u8("fill_time"));
  fill.defined = cursor.u8("defined") != 0;
  if (fill.defined) decode_sized_value(cursor, fill);
  return cursor.finish(std::move(fill));
}

Result<FillValue> decode_fill_value_old(Cursor& cursor) {
  FillValue fill;
  decode_sized_value(cursor, fill);
  fill.defined = !fill.value.empty();
  fill.allocation_time = 2;
  return cursor.finish(std::move(fill));
}

}  // namespace h5mount::format

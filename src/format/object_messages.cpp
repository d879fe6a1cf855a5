// External data files message:
//   version 1 (1) | reserved (3) | allocated slots (2) | used slots (2) | heap address (O) |
//   slots x { name offset in the heap (L) | offset in the file (L) | bytes (L) }
// Shared message reference (the body of a message that is stored elsewhere):
//   version 1: 1 (1) | type (1) | reserved (6) | link name offset (L) | object header address (O)
//   version 2: 2 (1) | type (1) | object header address (O)
//   version 3: 3 (1) | type (1) | type 1: heap id in the shared message heap (8), else: address (O)
// Object modification time:
//   version 1 (1) | reserved (3) | seconds since 1970 (4)
// Object modification time (old):
//   "YYYYMMDDhhmmss" (14), UTC | reserved (2)
// Object comment:
//   text, NUL
// Object reference count:
//   version 0 (1) | count (4)
//
// O, L: size of offsets, of lengths.
#include <chrono>

#include "h5mount/format/messages.h"

namespace h5mount::format {

namespace {

// `width` ASCII digits.
unsigned decimal(Cursor& cursor, std::size_t width, std::string_view field) {
  unsigned value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    const unsigned digit = cursor.u8(field) - unsigned{'0'};
    cursor.require(digit <= 9, "is not a digit");
    value = value * 10 + digit;
  }
  return value;
}

}  // namespace

Result<ExternalDataFiles> decode_external_data_files(Cursor& cursor) {
  ExternalDataFiles files;
  cursor.version(1, 1);
  cursor.skip(3, "reserved");
  const std::uint16_t allocated = cursor.u16("allocated_slots");
  const std::uint16_t used = cursor.u16("used_slots");
  cursor.require(used <= allocated, "above the allocated slots");
  const Field used_slots = cursor.last();
  files.heap_address = cursor.address("heap_address");
  const std::size_t count = cursor.count(used_slots, std::size_t{3} * cursor.sizes().lengths, UINT16_MAX);
  files.slots.resize(count);
  for (ExternalFileSlot& slot : files.slots) {
    slot.name_offset = cursor.plain_length("name_offset");
    slot.file_offset = cursor.plain_length("file_offset");
    slot.size = cursor.length("size");
  }
  return cursor.finish(std::move(files));
}

Result<SharedMessageReference> decode_shared_reference(Cursor& cursor) {
  constexpr std::uint8_t kInSharedMessageHeap = 1;
  SharedMessageReference reference;
  const std::uint8_t version = cursor.version(1, 3);
  const std::uint8_t type = cursor.u8("type");
  if (version == 1) {
    // The specification describes only an address, but libhdf5 writes the beginning of a symbol table entry,
    // where a link name offset precedes it.
    cursor.skip(6, "reserved");
    cursor.skip(cursor.sizes().lengths, "link_name_offset");
  }
  reference.in_heap = version == 3 && type == kInSharedMessageHeap;
  if (reference.in_heap)
    reference.heap_id = cursor.u64("heap_id");
  else
    reference.header_address = cursor.address("object_header_address");
  return cursor.finish(reference);
}

Result<std::int64_t> decode_modification_time(Cursor& cursor) {
  cursor.version(1, 1);
  cursor.skip(3, "reserved");
  const std::int64_t seconds = cursor.u32("seconds");
  return cursor.finish(seconds);
}

Result<std::int64_t> decode_modification_time_old(Cursor& cursor) {
  using namespace std::chrono;
  const Field start{"date", cursor.here(), 0};
  const year y{static_cast<int>(decimal(cursor, 4, "year"))};
  const month m{decimal(cursor, 2, "month")};
  const day d{decimal(cursor, 2, "day")};
  const unsigned hours_ = decimal(cursor, 2, "hour");
  const unsigned minutes_ = decimal(cursor, 2, "minute");
  const unsigned seconds_ = decimal(cursor, 2, "second");
  const year_month_day date{y, m, d};
  cursor.require(date.ok() && hours_ <= 23 && minutes_ <= 59 && seconds_ <= 60, start, "is no date");
  if (!cursor.ok()) return fail(*cursor.error());
  const auto time = sys_days{date} + hours{hours_} + minutes{minutes_} + seconds{seconds_};
  return static_cast<std::int64_t>(duration_cast<seconds>(time.time_since_epoch()).count());
}

Result<std::string> decode_comment(Cursor& cursor) {
  return cursor.finish(std::string(cursor.c_string("comment")));
}

Result<std::uint32_t> decode_reference_count(Cursor& cursor) {
  cursor.version(0, 0);
  const std::uint32_t count = cursor.u32("reference_count");
  return cursor.finish(count);
}

}  // namespace h5mount::format

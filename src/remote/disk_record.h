// The files of a disk cache: each has a part of one object, as records that only grow in number. A record
// says which bytes it has, and counts where its checksums hold, which hold for this object alone. What a
// record or a file claims is believed in nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "h5mount/base/bytes.h"

namespace h5mount::remote {

constexpr std::uint64_t kMaxRecordBytes = 256U << 10;
constexpr std::size_t kMaxRecords = 1U << 14;  // of a file
constexpr std::uint64_t kRecordHeaderBytes = 32;

struct DiskRecord {
  std::uint64_t begin = 0, end = 0;  // of the object
  std::uint64_t position = 0;        // of the bytes, in the file
  std::uint32_t sum = 0;
};

struct ScannedRecords {
  std::vector<DiskRecord> records;
  std::uint64_t end = 0;  // of the last whole one; what lies behind it was not finished
  bool damaged = false;   // there is something that no writer leaves
};
// The records of the object's bytes `part`, from a place in the file on where a record begins. `key` is what
// the checksums are made with.
ScannedRecords scan_records(int file, std::uint64_t from, std::uint64_t file_bytes, std::uint32_t key,
                            ByteRange part);
// False where the bytes are not those that were written.
bool read_record(int file, const DiskRecord& record, std::uint32_t key, MutableByteSpan out);
// Writes one at the file's end. Nothing: it cannot be written whole, and the file is as it was.
std::optional<DiskRecord> append_record(int file, std::uint64_t file_bytes, std::uint32_t key,
                                        std::uint64_t begin, std::string_view bytes);

}  // namespace h5mount::remote

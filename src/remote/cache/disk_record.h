// The files of a disk cache: each contains records with bytes of one part of an object, and only grows. A
// record states which bytes it has, and is used only if its checksums are right, which depend on the object.
// Nothing else that a record or a file states is relied on.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "h5mount/base/bytes.h"

namespace h5mount::remote {

constexpr std::uint64_t kMaxRecordBytes = 256U << 10;
constexpr std::size_t kMaxRecords = 1U << 14;  // in one file
constexpr std::uint64_t kRecordHeaderBytes = 32;

struct DiskRecord {
  std::uint64_t begin = 0, end = 0;  // offsets in the object
  std::uint64_t position = 0;        // offset of the bytes in the file
  std::uint32_t sum = 0;
};

struct ScannedRecords {
  std::vector<DiskRecord> records;
  std::uint64_t end = 0;  // end of the last whole record; bytes behind it are unfinished
  bool damaged = false;   // the file has something that no writer leaves
};
// Reads the records of a file, from the offset `from` on, at which a record must begin. `part`: the object's
// bytes that the file is for. `key`: the start value of the checksums.
ScannedRecords scan_records(int file, std::uint64_t from, std::uint64_t file_bytes, std::uint32_t key,
                            ByteRange part);
// Returns false if the bytes are not those that were written.
bool read_record(int file, const DiskRecord& record, std::uint32_t key, MutableByteSpan out);
// Writes a record at the file's end. Returns nullopt if it cannot be written whole; the file is then as it
// was.
std::optional<DiskRecord> append_record(int file, std::uint64_t file_bytes, std::uint32_t key,
                                        std::uint64_t begin, std::string_view bytes);

}  // namespace h5mount::remote

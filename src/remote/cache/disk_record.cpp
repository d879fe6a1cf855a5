#include "disk_record.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "h5mount/base/checksum.h"

namespace h5mount::remote {
namespace {

constexpr std::uint32_t kMagic = 0x31'43'35'68;  // files of another byte order or form have another number

struct Header {
  std::uint32_t magic, length;
  std::uint64_t begin;
  std::uint32_t sum;         // checksum of the bytes
  std::uint32_t unused = 0;  // no byte of the header is undefined
  std::uint32_t own_sum = 0, unused_too = 0;
};
static_assert(sizeof(Header) == kRecordHeaderBytes);

ByteSpan bytes_of(const void* from, std::size_t length) {
  return {static_cast<const std::byte*>(from), length};
}

std::uint32_t own_sum(Header header, std::uint32_t key) {
  header.own_sum = 0;
  return lookup3_checksum(bytes_of(&header, sizeof header), key);
}

bool read_all(int file, std::uint64_t at, MutableByteSpan out) {
  while (!out.empty()) {
    const ssize_t n = ::pread(file, out.data(), out.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(n));
    at += static_cast<std::uint64_t>(n);
  }
  return true;
}

// Checks what the header claims, so that nothing computed from it leaves `part`.
bool is_sound(const Header& header, std::uint32_t key, ByteRange part) {
  return header.magic == kMagic && header.own_sum == own_sum(header, key) && header.length > 0 &&
         header.length <= kMaxRecordBytes && header.begin >= part.begin && header.begin < part.end &&
         header.length <= part.end - header.begin;
}

}  // namespace

ScannedRecords scan_records(int file, std::uint64_t from, std::uint64_t file_bytes, std::uint32_t key,
                            ByteRange part) {
  ScannedRecords out;
  out.end = from;
  while (file_bytes - out.end >= kRecordHeaderBytes) {
    Header header;
    if (!read_all(file, out.end, {reinterpret_cast<std::byte*>(&header), sizeof header})) break;
    out.damaged = !is_sound(header, key, part) || out.records.size() == kMaxRecords;
    if (out.damaged || file_bytes - out.end - kRecordHeaderBytes < header.length) break;
    out.records.push_back(
        {header.begin, header.begin + header.length, out.end + kRecordHeaderBytes, header.sum});
    out.end += kRecordHeaderBytes + header.length;
  }
  return out;
}

bool read_record(int file, const DiskRecord& record, std::uint32_t key, MutableByteSpan out) {
  return read_all(file, record.position, out) && lookup3_checksum(out, key) == record.sum;
}

std::optional<DiskRecord> append_record(int file, std::uint64_t file_bytes, std::uint32_t key,
                                        std::uint64_t begin, std::string_view bytes) {
  Header header{kMagic, static_cast<std::uint32_t>(bytes.size()), begin,
                lookup3_checksum(bytes_of(bytes.data(), bytes.size()), key)};
  header.own_sum = own_sum(header, key);
  const struct iovec parts[] = {{&header, sizeof header}, {const_cast<char*>(bytes.data()), bytes.size()}};
  const std::size_t whole = sizeof header + bytes.size();
  if (::pwritev(file, parts, 2, static_cast<off_t>(file_bytes)) == static_cast<ssize_t>(whole))
    return DiskRecord{begin, begin + bytes.size(), file_bytes + sizeof header, header.sum};
  // If this fails too, the next writer cuts the file.
  if (::ftruncate(file, static_cast<off_t>(file_bytes)) != 0) return std::nullopt;
  return std::nullopt;
}

}  // namespace h5mount::remote

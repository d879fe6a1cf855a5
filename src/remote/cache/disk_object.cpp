#include "disk_object.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <ctime>

#include "h5mount/base/checksum.h"
#include "h5mount/base/log.h"
#include "h5mount/sign/sha256.h"

namespace h5mount::remote {
namespace {

constexpr std::size_t kMaxKnownRecords = 1U << 17;  // above this, indexes of other parts are dropped
constexpr std::uint64_t kMaxLookedFor = 64U << 20;  // the rest of a range is not looked for at once
constexpr std::time_t kUsedSeconds = 60;            // resolution of the time at which a file was last used

std::uint32_t checksum_key(const std::string& digest) {
  return lookup3_checksum(std::as_bytes(std::span(digest)));
}

}  // namespace

DiskObject::DiskObject(DiskCache& cache, const std::string& identity, std::uint64_t size)
    : cache_(cache),
      name_(sign::sha256_hex(identity).substr(0, 32)),
      key_(checksum_key(sign::sha256_hex(identity))),
      size_(size) {}

// The name contains the size of parts, as another mount may use another size.
std::string DiskObject::name_of(std::uint64_t part) const {
  return fmt::format("{}-{}-{}", name_, std::countr_zero(cache_.part_bytes()), part);
}

ByteRange DiskObject::range_of(std::uint64_t part) const {
  const std::uint64_t begin = part * cache_.part_bytes();
  return {begin, std::min(begin + cache_.part_bytes(), size_)};
}

void DiskObject::drop(std::uint64_t part) {
  log(LogLevel::Info, "disk cache: {} is damaged, and removed", name_of(part));
  ::unlinkat(cache_.directory(), name_of(part).c_str(), 0);
  const MutexLock lock(mutex_);
  indexes_.erase(part);
}

// Adds records to the index; returns how many it has then. Returns nullopt if they are too many or overlap,
// which no writer leaves. Records that another thread has added meanwhile remain.
std::optional<std::size_t> DiskObject::learn(std::uint64_t part, ino_t file, std::uint64_t from,
                                             const ScannedRecords& scanned) {
  const MutexLock lock(mutex_);
  std::size_t known = 0;
  for (const auto& [number, index] : indexes_) known += index.records.size();
  if (known + scanned.records.size() > kMaxKnownRecords)
    std::erase_if(indexes_, [part](const auto& entry) { return entry.first != part; });
  Index& index = indexes_[part];
  if (from == 0) index = {.file = file, .scanned = 0, .records = {}};
  if (index.file != file || index.scanned != from) return index.records.size();
  index.scanned = scanned.end;
  for (const DiskRecord& record : scanned.records) {
    const auto after = index.records.lower_bound(record.begin);
    if (after != index.records.end() && after->second.begin < record.end) return std::nullopt;
    if (after != index.records.begin() && std::prev(after)->second.end > record.begin) return std::nullopt;
    index.records.insert_or_assign(after, record.begin, record);
  }
  if (index.records.size() > kMaxRecords) return std::nullopt;
  return index.records.size();
}

std::optional<DiskObject::Opened> DiskObject::open_part(std::uint64_t part, int flags) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Opened out{UniqueFd(::openat(cache_.directory(), name_of(part).c_str(), flags | kFlags, 0600))};
  struct stat st = {};
  const bool sound = out.file && ::fstat(out.file.get(), &st) == 0 && S_ISREG(st.st_mode);
  const auto bytes = static_cast<std::uint64_t>(st.st_size);
  std::uint64_t from = 0;
  {
    const MutexLock lock(mutex_);
    const auto known = indexes_.find(part);
    if (!sound) {
      if (known != indexes_.end()) indexes_.erase(known);
      return std::nullopt;
    }
    if (known != indexes_.end() && known->second.file == st.st_ino && known->second.scanned <= bytes)
      from = known->second.scanned;
  }
  if (::time(nullptr) - st.st_mtime > kUsedSeconds) ::futimens(out.file.get(), nullptr);
  const ScannedRecords scanned = scan_records(out.file.get(), from, bytes, key_, range_of(part));
  const auto count = scanned.damaged ? std::nullopt : learn(part, st.st_ino, from, scanned);
  if (!count) {
    drop(part);
    return std::nullopt;
  }
  out.identity = st.st_ino;
  out.end = scanned.end;
  out.count = *count;
  return out;
}

std::vector<DiskRecord> DiskObject::records_in(std::uint64_t part, ino_t file, ByteRange range) {
  std::vector<DiskRecord> out;
  const MutexLock lock(mutex_);
  const auto known = indexes_.find(part);
  if (known == indexes_.end() || known->second.file != file) return out;
  const auto& records = known->second.records;
  auto at = records.upper_bound(range.begin);
  if (at != records.begin()) --at;
  for (; at != records.end() && at->first < range.end; ++at)
    if (at->second.end > range.begin) out.push_back(at->second);
  return out;
}

std::vector<ByteRange> DiskObject::found(std::span<const ByteRange> ranges) {
  std::vector<ByteRange> out;
  std::map<std::uint64_t, ino_t> files;  // 0: there is no file
  for (const ByteRange& range : ranges) {
    std::uint64_t end = std::min(range.end, size_);
    if (end > range.begin) end = std::min(end - range.begin, kMaxLookedFor) + range.begin;
    for (std::uint64_t part = range.begin / cache_.part_bytes(); range_of(part).begin < end; ++part) {
      if (!files.contains(part)) {
        const auto opened = open_part(part, O_RDONLY);
        files[part] = opened ? opened->identity : 0;
      }
      for (const DiskRecord& record : records_in(part, files[part], range))
        out.push_back({record.begin, record.end});
    }
  }
  std::ranges::sort(out, {}, &ByteRange::begin);
  return out;
}

void DiskObject::read(ByteRange range,
                      const std::function<void(std::uint64_t begin, std::string bytes)>& take) {
  range.end = std::min(range.end, size_);
  for (std::uint64_t part = range.begin / cache_.part_bytes(); range_of(part).begin < range.end; ++part) {
    const auto opened = open_part(part, O_RDONLY);
    if (!opened) continue;
    for (const DiskRecord& record : records_in(part, opened->identity, range)) {
      std::string bytes(static_cast<std::size_t>(record.end - record.begin), '\0');
      if (!read_record(opened->file.get(), record, key_, std::as_writable_bytes(std::span(bytes)))) {
        drop(part);
        break;
      }
      cache_.add_hit();
      take(record.begin, std::move(bytes));
    }
  }
}

void DiskObject::put(std::uint64_t begin, std::shared_ptr<const std::string> bytes) {
  const std::uint64_t length = bytes->size();
  cache_.later(length,
               [self = shared_from_this(), begin, bytes = std::move(bytes)] { self->keep(begin, *bytes); });
}

void DiskObject::keep(std::uint64_t begin, std::string_view bytes) {
  const auto turn = cache_.take_turn();
  while (turn && !bytes.empty()) {
    const std::uint64_t part = begin / cache_.part_bytes();
    const std::string_view piece = bytes.substr(0, range_of(part).end - begin);
    if (!keep_in(*turn, part, begin, piece)) return;
    begin += piece.size();
    bytes.remove_prefix(piece.size());
  }
}

bool DiskObject::keep_in(const UniqueFd& turn, std::uint64_t part, std::uint64_t begin,
                         std::string_view bytes) {
  auto opened = open_part(part, O_RDWR | O_CREAT);
  if (!opened) opened = open_part(part, O_RDWR | O_CREAT);  // a damaged file is removed by now
  // Cuts off the unfinished record of a program that ended while it wrote.
  if (!opened || ::ftruncate(opened->file.get(), static_cast<off_t>(opened->end)) != 0) return false;
  std::uint64_t at = begin;
  const std::uint64_t end = begin + bytes.size();
  const auto add_up_to = [&](std::uint64_t hole_end) {
    while (at < hole_end) {
      const std::string_view piece =
          bytes.substr(static_cast<std::size_t>(at - begin),
                       static_cast<std::size_t>(std::min(hole_end - at, kMaxRecordBytes)));
      if (!add(turn, part, *opened, at, piece)) return false;
      at += piece.size();
    }
    return true;
  };
  for (const DiskRecord& there : records_in(part, opened->identity, {begin, end})) {
    if (!add_up_to(std::min(there.begin, end))) return false;
    at = std::max(at, there.end);
  }
  return add_up_to(end);
}

bool DiskObject::add(const UniqueFd& turn, std::uint64_t part, Opened& to, std::uint64_t begin,
                     std::string_view bytes) {
  constexpr std::uint64_t kNewFile = 4096;  // a file's last block is used whole
  const std::uint64_t needed = kRecordHeaderBytes + bytes.size() + (to.end == 0 ? kNewFile : 0);
  if (to.count >= kMaxRecords || !cache_.make_room(turn, needed)) return false;
  const auto record = append_record(to.file.get(), to.end, key_, begin, bytes);
  if (!record) return false;
  ScannedRecords written;
  written.records.push_back(*record);
  written.end = record->position + bytes.size();
  (void)learn(part, to.identity, to.end, written);
  to.end = written.end;
  ++to.count;
  return true;
}

}  // namespace h5mount::remote

// DiskObject: the bytes of one version of one object in a disk cache. Threads: any.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "disk_cache.h"
#include "disk_record.h"

namespace h5mount::remote {

class DiskObject : public std::enable_shared_from_this<DiskObject> {
 public:
  // `identity` distinguishes the object and version from all others.
  DiskObject(DiskCache& cache, const std::string& identity, std::uint64_t size);

  // The places of the cached records that touch the ranges, in order; of a long range only its beginning is
  // looked at.
  std::vector<ByteRange> found(std::span<const ByteRange> ranges);
  // Reads the cached records that touch the range, whole and in order of parts.
  void read(ByteRange range, const std::function<void(std::uint64_t begin, std::string bytes)>& take);
  // Writes the bytes that are not in the cache yet, at a later time.
  void put(std::uint64_t begin, std::shared_ptr<const std::string> bytes);

 private:
  // The part of a file's index that is known by now.
  struct Index {
    ino_t file = 0;
    std::uint64_t scanned = 0;
    std::map<std::uint64_t, DiskRecord> records;  // by their `begin`
  };
  struct Opened {
    UniqueFd file;
    ino_t identity = 0;
    std::uint64_t end = 0;  // end of the last whole record
    std::size_t count = 0;  // number of records
  };

  std::string name_of(std::uint64_t part) const;
  ByteRange range_of(std::uint64_t part) const;
  // Opens the file of a part and brings its index up to date. Returns nullopt if there is no sound file.
  std::optional<Opened> open_part(std::uint64_t part, int flags);
  std::optional<std::size_t> learn(std::uint64_t part, ino_t file, std::uint64_t from,
                                   const ScannedRecords& scanned);
  void drop(std::uint64_t part);
  std::vector<DiskRecord> records_in(std::uint64_t part, ino_t file, ByteRange range);
  void keep(std::uint64_t begin, std::string_view bytes);
  bool keep_in(const UniqueFd& turn, std::uint64_t part, std::uint64_t begin, std::string_view bytes);
  bool add(const UniqueFd& turn, std::uint64_t part, Opened& to, std::uint64_t begin, std::string_view bytes);

  DiskCache& cache_;
  const std::string name_;
  const std::uint32_t key_;
  const std::uint64_t size_;
  Mutex mutex_;
  std::map<std::uint64_t, Index> indexes_ H5_GUARDED_BY(mutex_);  // by part
};

}  // namespace h5mount::remote

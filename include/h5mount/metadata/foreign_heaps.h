// ForeignHeaps: global heaps of other files that elements shown by this file refer to. An element of a
// virtual dataset of a variable-length type names an object in the heap of its source's file. Shown as an
// element of the virtual dataset's file, it names the same object by a place that no file has: bit 63, the
// number of an entry here, and the address in the source's file. load_global_heap_object understands both. So
// what shows values needs to know of one file alone.
//
// One for each open file, for as long as that is open. Its entries are few: one for each pair of a source's
// file and a conversion. Threads: any; no lock is held while files are opened or read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/metadata/followed_file.h"
#include "h5mount/metadata/global_heap.h"

namespace h5mount::metadata {

class ForeignHeaps {
 public:
  struct Heap {
    std::string name;  // of the file, for errors
    std::function<Result<std::shared_ptr<FollowedFile>>()> open;
    // Makes of an object what this file's elements refer to; null: it is that already.
    std::function<Result<GlobalHeapObject>(const GlobalHeapObject&)> convert;
  };

  static bool is_foreign(std::uint64_t address) { return (address & kForeign) != 0; }
  // The largest address in another file that has a place here.
  static constexpr std::uint64_t kMaxAddress = (std::uint64_t{1} << 44) - 1;

  // The place of address 0 of a heap. Equal keys have the same place.
  Result<std::uint64_t> place_of(const std::string& key, const Heap& heap);

  // The heap of a place, and the address in it; nullopt if there is none.
  struct Found {
    Heap heap;
    std::uint64_t place = 0, address = 0;
  };
  std::optional<Found> find(std::uint64_t place) const;

  Result<GlobalHeapObject> load(const Found& found, std::uint32_t index);

 private:
  static constexpr std::uint64_t kForeign = std::uint64_t{1} << 63;
  static constexpr unsigned kNumberAt = 44;
  static constexpr std::size_t kMaxHeaps = std::size_t{1} << 16;
  static constexpr std::size_t kKeptOpen = 32;

  Result<std::shared_ptr<FollowedFile>> file_of(const Found& found);

  struct Entry {
    Heap heap;
    std::weak_ptr<FollowedFile> file = {};
  };
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::size_t> numbers_ H5_GUARDED_BY(mutex_);
  std::vector<Entry> entries_ H5_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<FollowedFile>> kept_ H5_GUARDED_BY(mutex_);  // the latest that were opened
  std::size_t next_kept_ H5_GUARDED_BY(mutex_) = 0;
};

}  // namespace h5mount::metadata

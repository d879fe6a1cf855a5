// One collection of the global heap and the positions of its objects. The bytes of a small collection are
// kept; objects of a large one are read from the file one by one.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "h5mount/metadata/global_heap.h"

namespace h5mount::metadata {

inline constexpr std::string_view kGlobalHeapName = "GlobalHeapCollection";  // in errors

struct GlobalHeapCollection {
  struct Entry {
    std::uint16_t index = 0;
    std::uint64_t position = 0;  // of the object's data, from the collection's start
    std::uint64_t size = 0;
    std::uint64_t size_offset = 0;  // absolute offset of the size field
  };
  std::uint64_t address = 0;
  std::vector<Entry> entries;                  // sorted by index
  std::shared_ptr<const MetadataBlock> whole;  // null: read objects from the file
  std::optional<Error> damage;                 // the error that ended the walk; objects after it are unknown

  std::size_t held_bytes() const {
    return sizeof *this + entries.capacity() * sizeof(Entry) + (whole ? whole->bytes().size() : 0);
  }
};

Result<std::shared_ptr<const GlobalHeapCollection>> load_global_heap_collection(const FileMetadata& file,
                                                                                std::uint64_t address);

}  // namespace h5mount::metadata

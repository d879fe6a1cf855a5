// The global heap object of a virtual layout:
//   version (1) | entries (L) | per entry | checksum (4)
//   entry, version 0: file name, NUL | dataset name, NUL | source selection | virtual selection
//   entry, version 1: flags (1) | file name | dataset name | source selection | virtual selection
//     flags: bit 0 the file name, bit 1 the dataset name is that of an earlier entry, whose number (L) is
//     stored instead; bit 2 the file is the virtual dataset's own and no name is stored
//
// L: size of lengths.
#include "h5mount/format/virtual_mapping.h"

#include <deque>

#include "h5mount/base/limits.h"

namespace h5mount::format {

namespace {

enum : std::uint8_t { kFileShared = 0x01, kDatasetShared = 0x02, kSameFile = 0x04 };

// The names of one kind: those that entries share are held once.
class Names {
 public:
  // The name of the next entry.
  const std::string& decode(Cursor& cursor, bool shared, std::string_view field) {
    static const std::string none;
    std::size_t place = names_.size();
    if (shared) {
      const std::uint64_t number = cursor.plain_length(field);
      cursor.require(number < of_entry_.size(), "is that of no earlier entry");
      if (!cursor.ok()) return none;
      place = of_entry_[static_cast<std::size_t>(number)];
    } else {
      names_.emplace_back(cursor.c_string(field));
    }
    of_entry_.push_back(static_cast<std::uint32_t>(place));
    return names_[place];
  }
  // The next entry has a name that is not stored.
  const std::string& add(std::string_view name) {
    of_entry_.push_back(static_cast<std::uint32_t>(names_.size()));
    return names_.emplace_back(name);
  }

 private:
  std::deque<std::string> names_;
  std::vector<std::uint32_t> of_entry_;
};

Selection decode_part(Cursor& cursor) {
  auto selection = decode_selection(cursor);
  return selection ? *std::move(selection) : Selection{};  // the cursor keeps the error
}

VirtualMapping decode_mapping(Cursor& cursor, std::uint8_t version, Names& files, Names& datasets,
                              std::size_t& selections) {
  VirtualMapping mapping;
  const std::uint8_t flags = version == 0 ? std::uint8_t{0} : cursor.u8("entry_flags");
  cursor.require((flags & ~(kFileShared | kDatasetShared | kSameFile)) == 0, "has unknown bits");
  mapping.file = (flags & kSameFile) != 0
                     ? files.add(".")
                     : files.decode(cursor, (flags & kFileShared) != 0, "source_file_name");
  mapping.dataset = datasets.decode(cursor, (flags & kDatasetShared) != 0, "source_dataset_name");
  selections = cursor.position();
  mapping.source = decode_part(cursor);
  mapping.view = decode_part(cursor);
  return mapping;
}

}  // namespace

Status for_each_virtual_mapping(Cursor& cursor, const VisitMapping& visit) {
  constexpr std::size_t kMinEntryBytes = 2 + 2 * 16;
  // The file stores shared names once; whoever is visited may have a copy for every entry.
  constexpr std::size_t kMaxNameBytes = std::size_t{256} << 20;
  const std::uint8_t version = cursor.version(0, 1);
  cursor.plain_length("entry_count");
  const std::size_t count = cursor.count(kMinEntryBytes, limits::kMaxVirtualMappings);
  std::size_t name_bytes = 0;
  Names files, datasets;
  for (std::size_t i = 0; i < count && cursor.ok(); ++i) {
    const std::uint64_t entry_at = cursor.here();
    std::size_t selections = 0;
    VirtualMapping mapping = decode_mapping(cursor, version, files, datasets, selections);
    name_bytes += mapping.file.size() + mapping.dataset.size();
    cursor.require_at_most(kMaxNameBytes, {"source_names", entry_at, name_bytes},
                           "bytes of all names together");
    if (cursor.ok()) H5_TRY(visit(std::move(mapping), selections));
  }
  cursor.checksum();
  return cursor.finish();
}

}  // namespace h5mount::format

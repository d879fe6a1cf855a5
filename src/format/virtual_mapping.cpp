// The global heap object of a virtual layout:
//   version (1) | entries (L) | per entry | checksum (4)
//   entry, version 0: file name, NUL | dataset name, NUL | source selection | virtual selection
//   entry, version 1: flags (1) | file name | dataset name | source selection | virtual selection
//     flags: bit 0 the file name, bit 1 the dataset name is that of an earlier entry, whose number (L) is
//     stored instead; bit 2 the file is the virtual dataset's own and no name is stored
//
// L: size of lengths.
#include "h5mount/format/virtual_mapping.h"

#include "h5mount/base/limits.h"

namespace h5mount::format {

namespace {

enum : std::uint8_t { kFileShared = 0x01, kDatasetShared = 0x02, kSameFile = 0x04 };

using Mappings = std::vector<VirtualMapping>;

std::string decode_name(Cursor& cursor, bool shared, const Mappings& earlier,
                        std::string VirtualMapping::* which, std::string_view field) {
  if (!shared) return std::string(cursor.c_string(field));
  const std::uint64_t number = cursor.plain_length(field);
  cursor.require(number < earlier.size(), "is that of no earlier entry");
  return cursor.ok() ? earlier[static_cast<std::size_t>(number)].*which : std::string();
}

Selection decode_part(Cursor& cursor) {
  auto selection = decode_selection(cursor);
  return selection ? *std::move(selection) : Selection{};  // the cursor keeps the error
}

VirtualMapping decode_mapping(Cursor& cursor, std::uint8_t version, const Mappings& earlier) {
  VirtualMapping mapping;
  const std::uint8_t flags = version == 0 ? std::uint8_t{0} : cursor.u8("entry_flags");
  cursor.require((flags & ~(kFileShared | kDatasetShared | kSameFile)) == 0, "has unknown bits");
  if (flags & kSameFile)
    mapping.file.assign(1, '.');  // assigning a literal triggers a false -Wrestrict warning of g++ 12
  else
    mapping.file =
        decode_name(cursor, (flags & kFileShared) != 0, earlier, &VirtualMapping::file, "source_file_name");
  mapping.dataset = decode_name(cursor, (flags & kDatasetShared) != 0, earlier, &VirtualMapping::dataset,
                                "source_dataset_name");
  mapping.source = decode_part(cursor);
  mapping.view = decode_part(cursor);
  return mapping;
}

}  // namespace

Result<std::vector<VirtualMapping>> decode_virtual_mappings(Cursor& cursor) {
  constexpr std::size_t kMinEntryBytes = 2 + 2 * 16;
  // The file stores shared names once; here every entry has its own copy.
  constexpr std::size_t kMaxNameBytes = std::size_t{256} << 20;
  Mappings mappings;
  const std::uint8_t version = cursor.version(0, 1);
  cursor.plain_length("entry_count");
  const std::size_t count = cursor.count(kMinEntryBytes, limits::kMaxVirtualMappings);
  mappings.reserve(count);
  std::size_t name_bytes = 0;
  for (std::size_t i = 0; i < count && cursor.ok(); ++i) {
    const std::uint64_t entry_at = cursor.here();
    mappings.push_back(decode_mapping(cursor, version, mappings));
    name_bytes += mappings.back().file.size() + mappings.back().dataset.size();
    cursor.require_at_most(kMaxNameBytes, {"source_names", entry_at, name_bytes},
                           "bytes of all names together");
  }
  cursor.checksum();
  return cursor.finish(std::move(mappings));
}

}  // namespace h5mount::format

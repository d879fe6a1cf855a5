// Message, version 0:  | version 0 | strategy | threshold (L) | strategy 1 only: 6 managers (O each) |
// Message, version 1:  | version 1 | strategy | persists | threshold (L) | page size (L) |
//                      | page end threshold (2) | end of the allocated space (O) |
//                      | if it persists: 12 managers (O each) |
// Early builds of libhdf5 1.10 wrote the fields of version 1 under number 0.
//
// Manager:
//   | "FSHD" | version 0 | client | total space (L) | sections (L) | stored sections (L) | ghosts (L) |
//   | classes (2) | shrink percent (2) | expand percent (2) | address bits (2) | largest section (L) |
//   | list (O) | list bytes (L) | list space (L) | checksum (4) |
//
// List:
//   | "FSSE" | version 0 | manager (O) | per size: { sections | size | per section: { address | class |
//                                                    of a heap, classes 1 and 3: heap offset | row (2) |
//                                                    column (2) | blocks (2) } } |
//   | checksum (4) |
#include "h5mount/format/free_space.h"

#include "h5mount/base/limits.h"

namespace h5mount::format {
namespace {

constexpr unsigned kOldManagers = 6, kManagers = 12;
constexpr std::uint8_t kPaged = 1;  // a strategy of version 1
constexpr std::uint8_t kHeapClient = 0;

// Classes of a heap's sections that lie in an indirect block, with data that say where.
bool has_class_data(std::uint8_t section_class) {
  constexpr std::uint8_t kFirstRow = 1, kIndirect = 3;
  return section_class == kFirstRow || section_class == kIndirect;
}

std::uint64_t list_overhead(FileSizes sizes) {
  return std::uint64_t{4} + 1 + sizes.offsets + 4;
}

}  // namespace

Result<FileSpaceInfo> decode_file_space_info(Cursor& cursor) {
  const std::size_t offsets = cursor.sizes().offsets, lengths = cursor.sizes().lengths;
  const std::uint8_t version = cursor.version(0, 1);
  const std::size_t newer_bytes = 1 + 1 + 2 * lengths + 2 + (1 + kManagers) * offsets;
  const bool old = version == 0 && cursor.remaining() < newer_bytes;
  const std::uint8_t strategy = cursor.u8("strategy");
  const bool persists = (old ? strategy : cursor.u8("persists")) == 1;
  cursor.plain_length("threshold");
  FileSpaceInfo info;
  if (!old) {
    const std::uint64_t page_bytes = cursor.plain_length("page_size");
    if (strategy == kPaged) info.page_bytes = page_bytes;
    cursor.skip(2, "page_end_threshold");
    cursor.address("end_of_allocated_space");
  }
  for (unsigned left = !persists ? 0 : old ? kOldManagers : kManagers; left > 0; --left)
    if (const std::uint64_t address = cursor.address("manager_address"); address != kUndefinedAddress)
      info.managers.push_back(address);
  return cursor.finish(std::move(info));
}

std::uint64_t free_space_manager_bytes(FileSizes sizes) {
  return 4 + 1 + 1 + std::uint64_t{7} * sizes.lengths + 4 * 2 + sizes.offsets + 4;
}

Result<FreeSpaceManager> decode_free_space_manager(Cursor& cursor) {
  FreeSpaceManager manager;
  cursor.signature("FSHD");
  cursor.version(0, 0);
  manager.of_heap = cursor.u8("client") == kHeapClient;
  cursor.plain_length("total_space");
  cursor.plain_length("section_count");
  manager.section_count = cursor.plain_length("stored_section_count");
  cursor.plain_length("ghost_section_count");
  cursor.skip(6, "classes_and_percentages");
  manager.address_width = (cursor.u16("address_bits") + 7U) / 8;
  manager.size_width = bytes_for(cursor.plain_length("largest_section"));
  manager.count_width = bytes_for(manager.section_count);
  manager.list_address = cursor.address("list_address");
  manager.list_bytes = cursor.plain_length("list_bytes");
  const Field used = cursor.last();
  manager.list_space = cursor.plain_length("list_space");
  const Field space = cursor.last();
  cursor.checksum();
  if (cursor.ok() && manager.list_address != kUndefinedAddress) {
    cursor.require(used.value >= list_overhead(cursor.sizes()) && used.value <= space.value, used,
                   "no size of a list of sections");
    cursor.require_at_most(limits::kMaxNodeBytes, space, "too large");
  }
  return cursor.finish(manager);
}

Status decode_free_sections(Cursor& cursor, const FreeSpaceManager& manager,
                            const std::function<void(std::uint64_t, std::uint64_t)>& visit) {
  cursor.signature("FSSE");
  cursor.version(0, 0);
  cursor.address("manager_address");
  if (!cursor.ok()) return cursor.finish();
  // The checksum is verified before any section is used.
  const std::size_t sections_at = cursor.position();
  cursor.skip(cursor.remaining() - 4, "sections");
  const std::size_t end = cursor.position();
  cursor.checksum();
  if (!cursor.ok() || manager.address_width > 8) return cursor.finish();
  cursor.seek(sections_at);
  for (std::uint64_t seen = 0; cursor.ok() && seen < manager.section_count && cursor.position() < end;) {
    const std::uint64_t of_size = cursor.uint(manager.count_width, "section_count");
    if (of_size == 0) break;  // what follows is unused
    cursor.require(of_size <= manager.section_count - seen, "more sections than are counted");
    const std::uint64_t bytes = cursor.uint(manager.size_width, "section_size");
    for (std::uint64_t i = 0; i < of_size && cursor.ok(); ++i, ++seen) {
      const std::uint64_t address = cursor.uint(manager.address_width, "section_address");
      const std::uint8_t section_class = cursor.u8("section_class");
      if (manager.of_heap && has_class_data(section_class))
        cursor.skip(manager.address_width + 2 + 2 + 2, "section_class_data");
      if (cursor.require(cursor.position() <= end, "beyond the list", ErrorCode::Truncated))
        visit(address, bytes);
    }
  }
  return cursor.finish();
}

}  // namespace h5mount::format

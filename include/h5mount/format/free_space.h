// Free-space managers (specification III, level 1G): they record which space of a file, or of a fractal
// heap's blocks, is unused. Readers of data do not need them; a check of the file accounts for the space.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "h5mount/format/cursor.h"

namespace h5mount::format {

// File space info message (IV.A.2.x).
struct FileSpaceInfo {
  std::uint64_t page_bytes = 0;         // of paged aggregation; 0: the file's space is not paged
  std::vector<std::uint64_t> managers;  // the addresses of those managers of the file that are stored
};
Result<FileSpaceInfo> decode_file_space_info(Cursor& cursor);

struct FreeSpaceManager {
  bool of_heap = false;  // of a fractal heap, whose sections may have data of their class
  std::uint64_t section_count = 0;
  std::uint64_t list_address = kUndefinedAddress;  // of the sections; undefined: none are stored
  std::uint64_t list_bytes = 0;                    // in use, prefix and checksum included
  std::uint64_t list_space = 0;                    // bytes allocated for the list, at least list_bytes
  // The widths in bytes of the list's fields: addresses, sizes and numbers of sections. Addresses of more
  // than 8 bytes are not decoded.
  unsigned address_width = 0, size_width = 0, count_width = 0;
};

std::uint64_t free_space_manager_bytes(FileSizes sizes);
Result<FreeSpaceManager> decode_free_space_manager(Cursor& cursor);

// Decodes the list of sections, the first list_bytes of its space, and calls visit(address, bytes) for each
// section. Fails with LimitExceeded if there are more sections than the manager counts.
Status decode_free_sections(Cursor& cursor, const FreeSpaceManager& manager,
                            const std::function<void(std::uint64_t address, std::uint64_t bytes)>& visit);

}  // namespace h5mount::format

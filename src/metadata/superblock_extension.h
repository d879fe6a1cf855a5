// The superblock extension (specification II.C): an object header whose messages describe the file.
#pragma once

#include <optional>

#include "h5mount/format/cache_image.h"
#include "h5mount/format/shared_message_table.h"
#include "h5mount/format/superblock.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

struct SuperblockExtension {
  std::optional<format::BTreeKValues> k;
  std::optional<format::SharedMessageTableMessage> shared_message_table;
  std::optional<format::CacheImageMessage> cache_image;
  // Of paged file space; 0 if it is not paged, or if its message is damaged, which nothing depends on.
  std::uint64_t page_bytes = 0;
  std::optional<Error> unsupported;  // by a message that must be understood: so is the file
  std::vector<Error> damage;         // errors of messages that could not be decoded; the others are present
};

Result<SuperblockExtension> load_superblock_extension(const FileMetadata& file, std::uint64_t address);

}  // namespace h5mount::metadata

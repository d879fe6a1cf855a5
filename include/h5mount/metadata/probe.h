// Reads, from the first member only, the facts that must be known before the members of a file set can be
// joined.
#pragma once

#include <optional>

#include "h5mount/format/superblock.h"
#include "h5mount/io/byte_source.h"

namespace h5mount::metadata {

// The offset of the superblock: 0, 512, 1024, 2048… Fails with BadSignature if there is none.
Result<std::uint64_t> locate_superblock(const io::ByteSource& source);
Result<format::Superblock> load_superblock(const io::ByteSource& source, std::uint64_t place);

// The driver information of `first_member`, from the block of superblocks 0 and 1 or the extension of later
// ones; nullopt if there is none (a plain file) or if this member alone does not contain it.
Result<std::optional<format::DriverInfo>> probe_driver_info(std::shared_ptr<io::ByteSource> first_member);

}  // namespace h5mount::metadata

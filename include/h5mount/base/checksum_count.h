// The number of metadata checksums that all threads have compared since the program began, for fsck.h5, which
// reports how much of a file was verified.
#pragma once

#include <cstdint>

namespace h5mount {

void count_metadata_checksum();
[[nodiscard]] std::uint64_t metadata_checksums_verified();

}  // namespace h5mount

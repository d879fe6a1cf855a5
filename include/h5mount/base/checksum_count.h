// How many metadata checksums were compared since the program began, by all threads: for fsck.h5, which says
// how much of a file was verified.
#pragma once

#include <cstdint>

namespace h5mount {

void count_metadata_checksum();
[[nodiscard]] std::uint64_t metadata_checksums_verified();

}  // namespace h5mount

// The checksum of every version-2 structure of the format: Bob Jenkins' lookup3 ("hashlittle") with initial
// value 0. Source: file format specification, "metadata checksum"; lookup3 itself is in the public domain.
#pragma once

#include <cstdint>

#include "h5mount/base/bytes.h"

namespace h5mount {

[[nodiscard]] std::uint32_t lookup3_checksum(ByteSpan bytes, std::uint32_t initial = 0);

// For fuzzers only: when switched off, every metadata checksum is accepted, so that mutated structures reach
// the decoders. Never switched off by an option or a file.
void set_metadata_checksums_enabled(bool on);
[[nodiscard]] bool metadata_checksums_enabled();

// The number of metadata checksums that all threads have compared since the program began, for fsck.h5, which
// reports how much of a file was verified.
void count_metadata_checksum();
[[nodiscard]] std::uint64_t metadata_checksums_verified();

}  // namespace h5mount

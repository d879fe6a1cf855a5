// What the fuzz targets that take a whole file have in common.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "h5mount/base/checksum.h"
#include "h5mount/io/byte_source.h"

namespace h5mount::test {

// The input as a file. For two of three inputs checksums are disabled, so that mutations reach the decoders.
// For the third they are enabled, as with bit rot: a damaged node is rejected while its neighbours are valid.
inline std::shared_ptr<io::ByteSource> file_of_input(const std::uint8_t* data, std::size_t length) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < length; ++i) sum += data[i];
  set_metadata_checksums_enabled(sum % 3 == 0);
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  return io::make_memory_source({bytes, bytes + length});
}

// Ends the process, which is a finding, where anything was violated.
inline void expect_none(const std::vector<std::string>& violations) {
  for (const std::string& violation : violations) std::fprintf(stderr, "violation: %s\n", violation.c_str());
  if (!violations.empty()) std::abort();
}

}  // namespace h5mount::test

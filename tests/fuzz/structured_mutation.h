// The custom mutator of fuzz targets whose inputs are HDF5 files or structures with checksums.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "mutator.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace h5mount::test {

// Half of the mutations are libFuzzer's own, half are made by Mutator, which knows the format's structures.
// In half of each the checksums that were right are corrected, as few random changes pass a checksum.
inline std::size_t mutate_structures(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  if (size < 16) return LLVMFuzzerMutate(data, size, most);
  const bool own = seed % 2 == 0, fix = seed / 2 % 2 == 0;
  if (own && !fix) return LLVMFuzzerMutate(data, size, most);
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> before(bytes, bytes + size);
  std::vector<std::byte> after = before;
  if (own) {
    const std::size_t length = LLVMFuzzerMutate(data, size, most);
    after.assign(bytes, bytes + length);
  } else {
    Mutator(seed).mutate(after);
  }
  if (fix) fix_checksums(before, after);
  after.resize(std::min(after.size(), most));
  if (!after.empty()) std::memcpy(data, after.data(), after.size());
  return after.size();
}

}  // namespace h5mount::test

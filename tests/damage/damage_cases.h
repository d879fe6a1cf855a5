// Seeded damage, one place at a time: the file cut short, or one bit flipped in a structure. The same file
// gives the same cases on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace h5mount::test {

struct DamageCase {
  std::string structure;     // "cut", a signature, "ObjectHeader v1", "LocalHeap segment"
  std::size_t at = 0;        // where the file ends, or the byte that is changed
  std::size_t within = 0;    // of a byte: its place in the structure
  std::uint8_t flip = 0;     // 0: a cut
  bool checksummed = false;  // whether the structure has a checksum over the byte

  std::vector<std::byte> apply(const std::vector<std::byte>& sound) const;
  std::string text() const;
};

// Cuts at 1, 5, 10, 25, 50, 75, 90 and 99 per cent.
std::vector<DamageCase> cuts_of(const std::vector<std::byte>& file);

// Of each kind of structure up to `instances` (the first, the last, and between), each with `flips` changed
// bytes: its first fields, and others by chance. `headers`: where object headers begin, of which those of
// version 1 have no signature.
std::vector<DamageCase> flips_of(const std::vector<std::byte>& file, const std::set<std::uint64_t>& headers,
                                 std::size_t instances, std::size_t flips);

}  // namespace h5mount::test

// Seeded damage of HDF5 files: the same seed gives the same bytes on every machine.
//
// Most changes are made near the signatures of the format's structures and set fields to values that are
// prone to errors: extremes, addresses of other structures (loops), counts slightly too large. Version 1
// object headers, their messages and version 1 heaps have no checksum; other checksums can be corrected with
// `fix_checksums`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace h5mount::test {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 1) {}

  // One to four changes. The file may become shorter, never longer.
  void mutate(std::vector<std::byte>& file);

 private:
  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  std::size_t place(const std::vector<std::byte>& file, const std::vector<std::size_t>& marks);
  std::uint64_t interesting(const std::vector<std::byte>& file, const std::vector<std::size_t>& marks,
                            std::uint64_t old, unsigned width);
  void change_field(std::vector<std::byte>& file, const std::vector<std::size_t>& marks);
  void change_bytes(std::vector<std::byte>& file, const std::vector<std::size_t>& marks);
  void copy_structure(std::vector<std::byte>& file, const std::vector<std::size_t>& marks);

  std::uint64_t state_;
};

// The offsets of all signatures of the format, ascending.
std::vector<std::size_t> find_signatures(const std::vector<std::byte>& file);

// Corrects those checksums in `after` that were right in `before` (of the same length) and are wrong now.
void fix_checksums(const std::vector<std::byte>& before, std::vector<std::byte>& after);

}  // namespace h5mount::test

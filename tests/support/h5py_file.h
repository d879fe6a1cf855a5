// HDF5 files that a test writes with h5py when it runs, and the structures in their bytes that it then
// damages.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "support/corpus.h"

namespace h5mount::test {

// The bytes of the file that the Python statements in `script` leave open as `f`; empty where Python or h5py
// fails. `libver` is h5py's: "latest" or "earliest".
inline std::vector<std::byte> written_with_h5py(const std::string& script,
                                                const std::string& libver = "latest") {
  std::string place = (std::filesystem::temp_directory_path() / "h5mount-written-XXXXXX").string();
  if (::mkdtemp(place.data()) == nullptr) return {};
  const std::filesystem::path directory(place), program = directory / "write.py", file = directory / "f.h5";
  std::ofstream(program) << "import h5py, numpy as np, sys\nf = h5py.File(sys.argv[1], 'w', libver='"
                         << libver << "')\n"
                         << script << "\nf.close()\n";
  const int status = std::system(("/usr/bin/python3 " + program.string() + " " + file.string()).c_str());
  std::vector<std::byte> bytes;
  if (status == 0) bytes = read_whole_file(file);
  std::filesystem::remove_all(directory);
  return bytes;
}

// Where the structures with this signature begin, in file order.
inline std::vector<std::size_t> places_of(const std::vector<std::byte>& bytes, std::string_view signature) {
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at + signature.size() <= bytes.size(); ++at)
    if (std::memcmp(bytes.data() + at, signature.data(), signature.size()) == 0) places.push_back(at);
  return places;
}

// The same bytes with one bit of the structure at `at` flipped, `behind` bytes behind its signature.
inline void flip(std::vector<std::byte>& bytes, std::size_t at, std::size_t behind = 4) {
  bytes.at(at + 4 + behind) ^= std::byte{0x10};
}

}  // namespace h5mount::test

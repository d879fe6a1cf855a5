#include "support/h5py_file.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

namespace h5mount::test {

std::vector<std::byte> written_with_h5py(const std::string& script, const std::string& libver) {
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

std::vector<std::size_t> places_of(const std::vector<std::byte>& bytes, std::string_view signature) {
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at + signature.size() <= bytes.size(); ++at)
    if (std::memcmp(bytes.data() + at, signature.data(), signature.size()) == 0) places.push_back(at);
  return places;
}

void flip(std::vector<std::byte>& bytes, std::size_t at, std::size_t distance) {
  bytes.at(at + 4 + distance) ^= std::byte{0x10};
}

}  // namespace h5mount::test

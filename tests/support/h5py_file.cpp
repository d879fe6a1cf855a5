#include "support/h5py_file.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

namespace h5mount::test {

namespace {

// A directory that is there as long as this object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string place = (std::filesystem::temp_directory_path() / "h5mount-written-XXXXXX").string();
    if (::mkdtemp(place.data()) == nullptr) throw std::runtime_error("no directory for files of tests");
    path_ = place;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

std::vector<std::byte> run_writer(const TemporaryDirectory& directory, const std::filesystem::path& program) {
  const auto file = directory / "f.h5", said = directory / "said";
  const std::string command = std::string(kPython) + " '" + program.string() + "' '" + file.string() +
                              "' >'" + said.string() + "' 2>&1";
  if (std::system(command.c_str()) == 0 && std::filesystem::exists(file)) return read_whole_file(file);
  std::ifstream in(said);
  throw std::runtime_error("no file from " + command + "\n" +
                           std::string(std::istreambuf_iterator<char>(in), {}));
}

}  // namespace

std::vector<std::byte> written_with_h5py(const std::string& script, const std::string& libver) {
  static std::map<std::pair<std::string, std::string>, std::vector<std::byte>> written;
  const auto [file, is_new] = written.try_emplace({script, libver});
  if (!is_new && !file->second.empty()) return file->second;
  const TemporaryDirectory directory;
  const auto program = directory / "write.py";
  std::ofstream(program) << "import h5py, numpy as np, sys\nf = h5py.File(sys.argv[1], 'w', libver='"
                         << libver << "')\n"
                         << script << "\nf.close()\n";
  return file->second = run_writer(directory, program);
}

std::vector<std::byte> written_by_program(const std::string& program) {
  return run_writer(TemporaryDirectory(), source_root() / "tests" / program);
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

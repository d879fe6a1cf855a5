#include "support/corpus.h"
#include "test_paths.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace h5mount::test {

std::filesystem::path source_root() {
  return H5MOUNT_SOURCE_ROOT;
}

const std::filesystem::path& own_corpus() {
  static const std::filesystem::path place = [] {
    const std::filesystem::path build =
        std::filesystem::path(H5MOUNT_PROGRAM).parent_path().parent_path().parent_path();
    const std::string command = std::string(kPython) + " '" +
                                (source_root() / "scripts/make_corpus.py").string() + "' --cached '" +
                                (build / "tests").string() + "'";
    std::string line;
    if (std::FILE* const pipe = ::popen(command.c_str(), "r")) {
      std::array<char, 4096> part{};
      while (std::fgets(part.data(), part.size(), pipe) != nullptr) line += part.data();
      if (::pclose(pipe) != 0) line.clear();
    }
    return std::filesystem::path(line.substr(0, line.find('\n')));
  }();
  return place;
}

std::vector<std::filesystem::path> corpora() {
  std::vector<std::filesystem::path> out;
  if (!own_corpus().empty()) out.push_back(own_corpus());
  if (const auto shared = shared_corpus()) out.push_back(*shared);
  return out;
}

std::optional<std::filesystem::path> shared_corpus() {
  const char* named = std::getenv("H5MOUNT_CORPUS");
  std::filesystem::path place = named ? std::filesystem::path(named) : source_root() / "../shared/corpus";
  if (!std::filesystem::is_directory(place)) return std::nullopt;
  return std::filesystem::canonical(place);
}

std::vector<std::byte> read_whole_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::byte> out(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) out[i] = static_cast<std::byte>(bytes[i]);
  return out;
}

}  // namespace h5mount::test

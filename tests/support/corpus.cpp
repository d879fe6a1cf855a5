#include "support/corpus.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace h5mount::test {

std::filesystem::path source_root() {
  return H5MOUNT_SOURCE_ROOT;
}

std::optional<std::filesystem::path> corpus() {
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

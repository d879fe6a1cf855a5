// Where the tests find files: the project's own small corpus, and the large one beside the checkout where it
// exists (H5MOUNT_CORPUS names another place). Tests skip, saying so, where it does not.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace h5mount::test {

inline std::filesystem::path source_root() {
  return H5MOUNT_SOURCE_ROOT;
}

inline std::optional<std::filesystem::path> corpus() {
  const char* named = std::getenv("H5MOUNT_CORPUS");
  std::filesystem::path place = named ? std::filesystem::path(named) : source_root() / "../shared/corpus";
  if (!std::filesystem::is_directory(place)) return std::nullopt;
  return std::filesystem::canonical(place);
}

inline std::vector<std::byte> read_whole_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::byte> out(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) out[i] = static_cast<std::byte>(bytes[i]);
  return out;
}

}  // namespace h5mount::test

#define H5MOUNT_NEEDS_CORPUS(name)                                    \
  const auto name##_place = ::h5mount::test::corpus();                \
  if (!name##_place) GTEST_SKIP() << "no corpus beside the checkout"; \
  const std::filesystem::path name = *name##_place

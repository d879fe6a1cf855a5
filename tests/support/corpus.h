// Paths of test files: the repository's own, and the large corpus beside the checkout where it exists
// (H5MOUNT_CORPUS overrides its path).
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

namespace h5mount::test {

std::filesystem::path source_root();
std::optional<std::filesystem::path> corpus();
std::vector<std::byte> read_whole_file(const std::filesystem::path& path);

}  // namespace h5mount::test

#define H5MOUNT_NEEDS_CORPUS(name)                                    \
  const auto name##_place = ::h5mount::test::corpus();                \
  if (!name##_place) GTEST_SKIP() << "no corpus beside the checkout"; \
  const std::filesystem::path name = *name##_place

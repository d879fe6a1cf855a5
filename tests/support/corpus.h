// Paths of test files. The project's own corpus is written by scripts/make_corpus.py, with h5py, when a test
// first asks for it; a larger one beside the checkout is used in addition where it exists (H5MOUNT_CORPUS
// overrides its path).
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

namespace h5mount::test {

// The interpreter that has Debian's h5py: the first `python3` of PATH may be another one.
inline constexpr const char* kPython = "/usr/bin/python3";

std::filesystem::path source_root();
// The project's own; empty where it could not be written.
const std::filesystem::path& own_corpus();
// The one beside the checkout.
std::optional<std::filesystem::path> shared_corpus();
// All that are there, the project's own first.
std::vector<std::filesystem::path> corpora();

std::vector<std::byte> read_whole_file(const std::filesystem::path& path);

}  // namespace h5mount::test

#define H5MOUNT_NEEDS_CORPUS()               \
  if (::h5mount::test::own_corpus().empty()) \
  GTEST_FAIL() << "scripts/make_corpus.py failed: are python3-h5py and numpy installed?"

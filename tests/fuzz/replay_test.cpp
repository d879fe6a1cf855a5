// The whole-file fuzz target without a fuzzer: the corpus unchanged and with seeded damage, and every finding
// that was fixed. Checked: no crash, no violation of the walk's invariants (whole_file.h), bounded time and
// memory for each input.
#include <gtest/gtest.h>

#include <algorithm>

#include "h5mount/base/checksum.h"
#include "h5mount/base/log.h"
#include "memory_peak.h"
#include "mutator.h"
#include "support/every_index.h"
#include "support/sanitized.h"
#include "whole_file.h"

namespace h5mount::test {
namespace {

constexpr std::uint64_t kMaxMemory =
    768ULL << 20;  // of the whole process, including the input and a cache of 32 MiB
constexpr double kMaxSeconds = kSanitized ? 60 : 15;  // of one operation

// Of every corpus that has such a directory.
std::vector<std::filesystem::path> files_below(const std::string& directory, std::uintmax_t most) {
  std::vector<std::filesystem::path> out;
  for (const std::filesystem::path& corpus : corpora()) {
    if (!std::filesystem::is_directory(corpus / directory)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus / directory)) {
      const auto extension = entry.path().extension();
      const bool other =
          extension == ".json" || extension == ".py" || extension == ".md" || extension == ".c";
      if (entry.is_regular_file() && !other && entry.file_size() <= most) out.push_back(entry.path());
    }
  }
  std::ranges::sort(out);
  return out;
}

void walk(const std::vector<std::byte>& bytes, const std::string& name) {
  reset_memory_peak();
  const WalkBounds bounds{.nodes = 500, .bytes_per_file = 256U << 10, .bytes = 16U << 20, .seconds = 5};
  const WalkReport report = walk_whole_file(io::make_memory_source(bytes), bounds);
  for (const std::string& violation : report.violations) ADD_FAILURE() << name << ": " << violation;
  EXPECT_LT(report.slowest_seconds, kMaxSeconds) << name << ": " << report.slowest;
  if (!kSanitized) EXPECT_LT(memory_peak(), kMaxMemory) << name;
}

class Checksums {
 public:
  explicit Checksums(bool on) { set_metadata_checksums_enabled(on); }
  ~Checksums() { set_metadata_checksums_enabled(true); }
};

class CorpusReplay : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { set_log_level(LogLevel::Error); }
};

TEST_P(CorpusReplay, AsItIs) {
  H5MOUNT_NEEDS_CORPUS();
  for (const auto& path : files_below(GetParam(), 2U << 20)) walk(read_whole_file(path), path.string());
}

TEST_P(CorpusReplay, WithChecksumsOff) {
  H5MOUNT_NEEDS_CORPUS();
  const Checksums off(false);
  for (const auto& path : files_below(GetParam(), 64U << 10)) walk(read_whole_file(path), path.string());
}

// One third of the changes pass the checksums because they are corrected, one third because they are
// disabled; the last third are rejected by them, while the structures around are valid.
void walk_damaged(const std::vector<std::byte>& valid, const std::string& name, std::uint64_t seed,
                  std::uint64_t round) {
  std::vector<std::byte> bytes = valid;
  Mutator(seed).mutate(bytes);
  const Checksums checksums(round % 3 != 1);
  if (round % 3 == 0) fix_checksums(valid, bytes);
  walk(bytes, name + " with seed " + std::to_string(seed));
}

TEST_P(CorpusReplay, Damaged) {
  H5MOUNT_NEEDS_CORPUS();
  constexpr std::uint64_t kRounds = kSanitized ? 3 : 9;
  std::uint64_t seed = 20'000;
  for (const auto& path : files_below(GetParam(), 48U << 10)) {
    const std::vector<std::byte> valid = read_whole_file(path);
    for (std::uint64_t round = 0; round < kRounds; ++round) walk_damaged(valid, path.string(), ++seed, round);
  }
}

std::vector<std::string> directories() {
  std::vector<std::string> out = {"generated", "hostile", "sparse", "filters"};
  if (shared_corpus()) out.push_back("foreign");
  return out;
}

INSTANTIATE_TEST_SUITE_P(Corpus, CorpusReplay, ::testing::ValuesIn(directories()),
                         [](const auto& info) { return info.param; });

// Indexes of every kind with more than one node: most small files have trees of a single leaf.
TEST(WrittenFiles, Damaged) {
  set_log_level(LogLevel::Error);
  for (const char* libver : {"earliest", "latest"}) {
    const std::vector<std::byte> valid = written_with_h5py(kEveryIndex, libver);
    ASSERT_FALSE(valid.empty()) << "h5py wrote no file";
    walk(valid, libver);
    for (std::uint64_t round = 0; round < (kSanitized ? 150 : 300); ++round)
      walk_damaged(valid, libver, 70'000 + round, round);
  }
}

// Inputs of earlier findings.
TEST(FrozenFindings, StayFixed) {
  set_log_level(LogLevel::Error);
  for (const auto& path : files_below(source_root() / "tests/hostile/seeds", 1U << 20)) {
    const std::vector<std::byte> bytes = read_whole_file(path);
    walk(bytes, path.string());
    const Checksums off(false);
    walk(bytes, path.string() + " without checksums");
  }
}

}  // namespace
}  // namespace h5mount::test

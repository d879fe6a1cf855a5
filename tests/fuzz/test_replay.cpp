// The whole-file fuzz targets without a fuzzer: the corpus unchanged and with seeded damage, and every
// finding that was fixed; names likewise. Checked: no crash, no violation of the invariants of the walk and
// of fsck.h5 (whole_file.h, check_whole_file.h), bounded time and memory for each input.
#include <gtest/gtest.h>

#include <algorithm>

#include "check_whole_file.h"
#include "h5mount/base/checksum.h"
#include "h5mount/base/log.h"
#include "h5mount/salvage/salvage.h"
#include "memory_peak.h"
#include "mutator.h"
#include "name_input.h"
#include "support/every_index.h"
#include "support/sanitized.h"
#include "whole_file.h"

namespace h5mount::test {
namespace {

constexpr std::uint64_t kMaxMemory =
    768ULL << 20;  // of the whole process, including the input and a cache of 32 MiB
constexpr double kMaxSeconds = kSanitized ? 60 : 15;  // of one operation

// Of every corpus that has such a directory, or of one that is named by its whole path.
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
  const auto repeats = std::ranges::unique(out);  // a whole path is the same one for each corpus
  out.erase(repeats.begin(), repeats.end());
  return out;
}

constexpr WalkBounds kWholeWalk{.nodes = 500, .bytes_per_file = 256U << 10, .bytes = 16U << 20, .seconds = 5};

void walk(const std::vector<std::byte>& bytes, const std::string& name, const WalkBounds& bounds) {
  reset_memory_peak();
  const WalkReport report = walk_whole_file(io::make_memory_source(bytes), bounds);
  for (const std::string& violation : report.violations) ADD_FAILURE() << name << ": " << violation;
  EXPECT_LT(report.slowest_seconds, kMaxSeconds) << name << ": " << report.slowest;
  if (!kSanitized) EXPECT_LT(memory_peak(), kMaxMemory) << name;
}

void check(const std::vector<std::byte>& bytes, const std::string& name) {
  reset_memory_peak();
  const CheckReport report = check_whole_file(io::make_memory_source(bytes), 5);
  for (const std::string& violation : report.violations) ADD_FAILURE() << name << ": " << violation;
  EXPECT_LT(report.longest_wait, kMaxSeconds) << name;
  if (!kSanitized) EXPECT_LT(memory_peak(), kMaxMemory) << name;
}

void walk_and_check(const std::vector<std::byte>& bytes, const std::string& name,
                    const WalkBounds& bounds = kWholeWalk) {
  walk(bytes, name, bounds);
  check(bytes, name);
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
  for (const auto& path : files_below(GetParam(), 2U << 20))
    walk_and_check(read_whole_file(path), path.string());
}

TEST_P(CorpusReplay, WithChecksumsOff) {
  H5MOUNT_NEEDS_CORPUS();
  const Checksums off(false);
  for (const auto& path : files_below(GetParam(), 64U << 10))
    walk_and_check(read_whole_file(path), path.string());
}

// One third of the changes pass the checksums because they are corrected, one third because they are
// disabled; the last third are rejected by them, while the structures around are valid. Three rounds of a
// kind share the directories under /.h5 and the nodes of a whole walk.
void walk_damaged(const std::vector<std::byte>& valid, const std::string& name, std::uint64_t seed,
                  std::uint64_t round) {
  std::vector<std::byte> bytes = valid;
  Mutator(seed).mutate(bytes);
  const Checksums checksums(round % 3 != 1);
  if (round % 3 == 0) fix_checksums(valid, bytes);
  constexpr unsigned kShares = 3;
  WalkBounds bounds = kWholeWalk;
  bounds.nodes /= kShares;
  bounds.hidden_step = kShares;
  bounds.first_hidden = static_cast<unsigned>(seed / 3 % kShares);
  walk_and_check(bytes, name + " with seed " + std::to_string(seed), bounds);
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
    walk_and_check(valid, libver);
    for (std::uint64_t round = 0; round < (kSanitized ? 150 : 300); ++round)
      walk_damaged(valid, libver, 70'000 + round, round);
  }
}

// Inputs of earlier findings.
TEST(FrozenFindings, StayFixed) {
  set_log_level(LogLevel::Error);
  for (const auto& path : files_below(source_root() / "tests/hostile/seeds", 1U << 20)) {
    const std::vector<std::byte> bytes = read_whole_file(path);
    walk_and_check(bytes, path.string());
    const Checksums off(false);
    walk_and_check(bytes, path.string() + " without checksums");
    salvage::Options options;
    options.fill = true;
    const auto salvaged = salvage::salvage_source(io::make_memory_source(bytes), options);
    if (!salvaged || !salvaged->report.changed) continue;
    const WalkReport report = walk_whole_file(salvaged->source, kWholeWalk);
    for (const std::string& violation : report.violations) ADD_FAILURE() << path << ": " << violation;
  }
}

// The seeds, and each with 300 series of changes that are the same in every run.
template <class Take>
void for_each_change(const std::vector<std::string>& seeds, std::string_view inserts, Take&& take) {
  std::uint64_t state = 4711;
  const auto below = [&](std::size_t bound) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % bound;
  };
  for (const std::string& seed : seeds) {
    take(seed);
    for (int round = 0; round < 300; ++round) {
      std::string changed = seed;
      for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
        const std::size_t at = below(changed.size() + 1);
        if (below(3) == 0)
          changed.erase(at, 1 + below(3));
        else if (below(4) == 0)
          changed.insert(at, 1, static_cast<char>(below(256)));
        else
          changed.insert(at, 1, inserts[below(inserts.size())]);
      }
      take(changed);
    }
  }
}

// Selections, escapes, cuts and places of attributes, each with seeded changes.
TEST(Names, ReplayOfSeededChanges) {
  const std::vector<std::string> seeds = {"10:20,:,3",
                                          "::100",
                                          "-1",
                                          "...,0",
                                          "0:18446744073709551616:2",
                                          "%",
                                          "%25",
                                          "%2F",
                                          ".",
                                          "..",
                                          "a@b",
                                          "%40@%2E",
                                          "hdf5.type",
                                          "hdf5.%",
                                          "%68df5.type",
                                          std::string(255, 'n'),
                                          std::string(300, '%'),
                                          "n~0123456789abcdef",
                                          std::string(120, '\xc3') + "\xa9~0123456789abcdef",
                                          std::string(90, '/') + "@"};
  for_each_change(seeds, "%25F0@/.,:-~\n", take_names);
}

}  // namespace
}  // namespace h5mount::test

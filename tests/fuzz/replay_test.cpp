// The whole-file fuzz target without a fuzzer: the corpus as it is and with seeded damage, and every finding
// that was mended. What is held: no crash, no broken rule of the walk (whole_file.h), bounded time and memory
// for each input.
#include <gtest/gtest.h>

#include <algorithm>

#include "h5mount/base/checksum.h"
#include "h5mount/base/log.h"
#include "memory_peak.h"
#include "mutator.h"
#include "support/every_index.h"
#include "whole_file.h"

namespace h5mount::test {
namespace {

// Sanitizers hold memory back and are slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif
constexpr std::uint64_t kMostMemory =
    768ULL << 20;  // of the whole process, the input and a cache of 32 MiB among it
constexpr double kMostSeconds = kSanitized ? 60 : 15;  // of one operation

std::vector<std::filesystem::path> files_below(const std::filesystem::path& place, std::uintmax_t most) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(place)) {
    const auto extension = entry.path().extension();
    const bool other = extension == ".json" || extension == ".py" || extension == ".md" || extension == ".c";
    if (entry.is_regular_file() && !other && entry.file_size() <= most) out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

void walk(const std::vector<std::byte>& bytes, const std::string& name) {
  reset_memory_peak();
  const WalkBounds bounds{.nodes = 500, .bytes_per_file = 256U << 10, .bytes = 16U << 20, .seconds = 5};
  const WalkReport report = walk_whole_file(io::make_memory_source(bytes), bounds);
  for (const std::string& violation : report.violations) ADD_FAILURE() << name << ": " << violation;
  EXPECT_LT(report.slowest_seconds, kMostSeconds) << name << ": " << report.slowest;
  if (!kSanitized) EXPECT_LT(memory_peak(), kMostMemory) << name;
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
  H5MOUNT_NEEDS_CORPUS(corpus);
  for (const auto& path : files_below(corpus / GetParam(), 2U << 20))
    walk(read_whole_file(path), path.string());
}

TEST_P(CorpusReplay, WithChecksumsOff) {
  H5MOUNT_NEEDS_CORPUS(corpus);
  const Checksums off(false);
  for (const auto& path : files_below(corpus / GetParam(), 64U << 10))
    walk(read_whole_file(path), path.string());
}

// A third of the changes get past the checksums by making them right again, a third by having them off; the
// last third are refused by them, while what lies around is sound.
void walk_damaged(const std::vector<std::byte>& sound, const std::string& name, std::uint64_t seed,
                  std::uint64_t round) {
  std::vector<std::byte> bytes = sound;
  Mutator(seed).mutate(bytes);
  const Checksums checksums(round % 3 != 1);
  if (round % 3 == 0) fix_checksums(sound, bytes);
  walk(bytes, name + " with seed " + std::to_string(seed));
}

TEST_P(CorpusReplay, Damaged) {
  H5MOUNT_NEEDS_CORPUS(corpus);
  constexpr std::uint64_t kRounds = kSanitized ? 3 : 9;
  std::uint64_t seed = 20'000;
  for (const auto& path : files_below(corpus / GetParam(), 48U << 10)) {
    const std::vector<std::byte> sound = read_whole_file(path);
    for (std::uint64_t round = 0; round < kRounds; ++round) walk_damaged(sound, path.string(), ++seed, round);
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, CorpusReplay,
                         ::testing::Values("generated", "foreign", "hostile", "sparse", "filters"),
                         [](const auto& info) { return info.param; });

// Indexes of every kind with more than one node: most small files have trees of a single leaf.
TEST(WrittenFiles, Damaged) {
  set_log_level(LogLevel::Error);
  for (const char* libver : {"earliest", "latest"}) {
    const std::vector<std::byte> sound = written_with_h5py(kEveryIndex, libver);
    ASSERT_FALSE(sound.empty()) << "h5py wrote no file";
    walk(sound, libver);
    for (std::uint64_t round = 0; round < (kSanitized ? 150 : 300); ++round)
      walk_damaged(sound, libver, 70'000 + round, round);
  }
}

// Inputs that were findings once, frozen.
TEST(FrozenFindings, StayMended) {
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

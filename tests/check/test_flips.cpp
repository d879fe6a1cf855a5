// Every kind of structure that has a checksum is verified, whether or not a reader needs it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "checked.h"
#include "support/every_index.h"

namespace h5mount::test {
namespace {

// One bit of the structures of the file that have a checksum, at most `most` of each kind; what of them leads
// to no finding, as "SIGNATURE at PLACE", and how many there were.
struct Flips {
  unsigned planted = 0;
  std::map<std::string, unsigned> kinds;
  std::vector<std::string> missed;
};

// What writers with SWMR have moved stays where it was, and nothing leads to it.
bool is_referred_to(const std::vector<std::byte>& bytes, std::size_t at) {
  const auto address = static_cast<std::uint32_t>(at);
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return all.find(std::string_view(reinterpret_cast<const char*>(&address), sizeof address)) !=
         std::string_view::npos;
}

void flip_each_kind(const std::vector<std::byte>& valid, unsigned most, Flips& flips) {
  for (const char* signature : {"OHDR", "OCHK", "BTHD", "BTLF", "BTIN", "FRHP", "FHDB", "FHIB", "FAHD",
                                "FADB", "EAHD", "EAIB", "EASB", "EADB", "FSHD", "FSSE", "SMTB", "SMLI"}) {
    unsigned of_kind = 0;
    for (const std::size_t at : places_of(valid, signature)) {
      const std::size_t end = end_of_structure(valid, at);
      if (end == 0 || !is_referred_to(valid, at) || of_kind++ >= most) continue;
      std::vector<std::byte> bytes = valid;
      bytes[at + (flips.planted * 7 + 3) % (end - at)] ^= std::byte{1} << flips.planted % 8;
      Collected report;
      check_bytes(bytes, report, true);
      ++flips.planted;
      ++flips.kinds[signature];
      if (report.findings.empty()) flips.missed.push_back(fmt::format("{} at {}", signature, at));
    }
  }
}

// Managers of free space are read by nothing else.
TEST(Check, FindsAFlippedBitOfManagersOfFreeSpace) {
  for (const char* strategy : {"page", "fsm"}) {
    const std::vector<std::byte> valid = written_with_h5py(fmt::format(R"(
f.close()
f = h5py.File(sys.argv[1], 'w', libver='latest', fs_strategy='{}', fs_persist=True, fs_threshold=1)
for i in range(40): f.create_dataset('d%d' % i, data=np.arange(300 + i))
for i in range(60): f['d1'].attrs['attribute %d' % i] = np.arange(i)
for i in range(0, 40, 3): del f['d%d' % i]
for i in range(0, 60, 7): del f['d1'].attrs['attribute %d' % i]
)",
                                                                       strategy));
    Collected sound;
    check_bytes(valid, sound);
    EXPECT_TRUE(sound.findings.empty()) << sound.findings[0].error.text();
    Flips flips;
    flip_each_kind(valid, 100, flips);
    EXPECT_GE(flips.kinds["FSHD"], 2U) << strategy;  // of the file and of a heap
    EXPECT_GE(flips.kinds["FSSE"], 2U) << strategy;
    EXPECT_EQ(flips.missed, std::vector<std::string>()) << strategy;
    // A signature is one as well.
    for (const char* signature : {"FSHD", "FSSE"}) {
      for (const std::size_t at : places_of(valid, signature)) {
        std::vector<std::byte> bytes = valid;
        bytes[at] ^= std::byte{1};
        Collected report;
        check_bytes(bytes, report, true);
        EXPECT_FALSE(report.findings.empty()) << signature << " at " << at;
      }
    }
  }
}

// Blocks of an extensible array that its dataset was shrunk away from are no part of the dataset any more.
TEST(Check, FindsAFlippedBitOfEachKindThatTheCorporaHold) {
  H5MOUNT_NEEDS_CORPUS();
  constexpr std::uintmax_t kMaxBytes = 300'000;
  constexpr unsigned kOfKind = 20;
  Flips flips;
  for (const std::filesystem::path& corpus : corpora()) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus)) {
      if (entry.path().extension() != ".h5" || !entry.is_regular_file() || entry.file_size() > kMaxBytes ||
          entry.path().string().find("hostile") != std::string::npos)
        continue;
      const std::vector<std::byte> valid = read_whole_file(entry.path());
      Collected sound;
      check_bytes(valid, sound, true);
      if (!sound.of(check::Severity::Damage).empty()) continue;
      const bool enough =
          std::ranges::all_of(flips.kinds, [](const auto& kind) { return kind.second > kOfKind; });
      if (enough && flips.kinds.size() > 14) continue;
      flip_each_kind(valid, 1, flips);
    }
  }
  std::erase_if(flips.missed, [](const std::string& place) { return place.starts_with("EASB"); });
  EXPECT_EQ(flips.missed, std::vector<std::string>());
  EXPECT_GE(flips.kinds.size(), 12U);
}

TEST(Check, FindsAFlippedBitOfEveryStructure) {
  const std::vector<std::byte> valid = written_with_h5py(kEveryIndex);
  unsigned planted = 0;
  for (const char* signature : {"OHDR", "BTHD", "BTLF", "BTIN", "FRHP", "FHDB", "FHIB", "FAHD", "FADB",
                                "EAHD", "EAIB", "EASB", "EADB"}) {
    for (const std::size_t at : places_of(valid, signature)) {
      std::vector<std::byte> bytes = valid;
      flip(bytes, at, 6);
      Collected report;
      check_bytes(bytes, report, true);
      EXPECT_FALSE(report.findings.empty()) << signature << " at " << at;
      ++planted;
    }
  }
  EXPECT_GT(planted, 20U);
}

}  // namespace
}  // namespace h5mount::test

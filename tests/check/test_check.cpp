// check_file over files that h5py writes: nothing is found in sound ones, and planted damage is found where
// it is.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "h5mount/check/check.h"
#include "support/every_index.h"
#include "support/h5py_file.h"

namespace h5mount::test {
namespace {

class Collected final : public check::Report {
 public:
  void found(const check::Finding& finding) override { findings.push_back(finding); }
  bool go_on(const check::Totals&) override { return !stop; }

  // "path: error", those of one severity.
  std::vector<std::string> of(check::Severity severity) const {
    std::vector<std::string> out;
    for (const check::Finding& finding : findings)
      if (finding.severity == severity) out.push_back(finding.path + ": " + finding.error.text());
    return out;
  }

  std::vector<check::Finding> findings;
  bool stop = false;
};

check::Totals check_bytes(std::vector<std::byte> bytes, Collected& report, bool quick = false) {
  auto files = object::FileSet::open(io::make_memory_source(std::move(bytes)), metadata::MetadataOptions{});
  if (!files) {
    report.findings.push_back({check::Severity::Damage, "", files.error()});
    return {};
  }
  const dataset::ReadEnvironment environment{std::make_shared<cache::BlockCache>(8U << 20),
                                             std::make_shared<cache::WorkerPool>(2), *std::move(files)};
  return check::check_file(environment, {.quick = quick}, report);
}

constexpr const char* kSmall = R"(
f.create_dataset('g/checked', data=np.arange(1000), chunks=(100,), compression='gzip', fletcher32=True)
f.create_dataset('g/plain', data=np.arange(1000, dtype='u1'))
f['g'].attrs['words'] = ['one', 'two']
f['text'] = ['alpha', 'beta']
f['again'] = f['g/plain']
f['loop'] = f['g']
)";

TEST(Check, SoundFilesHaveNoFindings) {
  for (const char* libver : {"earliest", "latest"}) {
    for (const char* script : {kSmall, kEveryIndex}) {
      const std::vector<std::byte> bytes = written_with_h5py(script, libver);
      if (bytes.empty()) GTEST_SKIP() << "h5py wrote no file";
      Collected report;
      const check::Totals totals = check_bytes(bytes, report);
      EXPECT_TRUE(report.findings.empty())
          << libver << ": " << report.findings[0].path << ": " << report.findings[0].error.text();
      EXPECT_GT(totals.objects, 4U);
      EXPECT_GT(totals.chunks, 9U);
      if (std::string_view(libver) == "latest") EXPECT_GT(totals.checksums, totals.objects);
    }
  }
}

TEST(Check, CountsWhatNoChecksumCovers) {
  const std::vector<std::byte> bytes = written_with_h5py(kSmall);
  if (bytes.empty()) GTEST_SKIP() << "h5py wrote no file";
  Collected report;
  const check::Totals totals = check_bytes(bytes, report);
  EXPECT_EQ(totals.objects, 5U);  // /, g, g/checked, g/plain, text: each once, whatever leads to it
  EXPECT_EQ(totals.attributes, 1U);
  EXPECT_EQ(totals.chunks, 10U);
  EXPECT_EQ(totals.unprotected_bytes, 1000U + 2 * 16);
  EXPECT_GT(totals.data_bytes, totals.unprotected_bytes);
}

TEST(Check, FindsAFlippedBitOfEveryStructure) {
  const std::vector<std::byte> valid = written_with_h5py(kEveryIndex);
  if (valid.empty()) GTEST_SKIP() << "h5py wrote no file";
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

// The chunk whose byte changed, and nothing else.
TEST(Check, FindsADamagedChunkUnlessItIsQuick) {
  std::vector<std::byte> bytes = written_with_h5py(R"(
f.create_dataset('g/checked', data=np.arange(1000), chunks=(100,), compression='gzip', fletcher32=True)
)");
  if (bytes.empty()) GTEST_SKIP() << "h5py wrote no file";
  Collected sound;
  EXPECT_EQ(check_bytes(bytes, sound).damage, 0U);
  std::size_t found = 0;
  // zlib's header of each chunk.
  for (std::size_t at = 0; at + 2 < bytes.size(); ++at) {
    if (bytes[at] != std::byte{0x78} || bytes[at + 1] != std::byte{0x5e}) continue;
    std::vector<std::byte> damaged = bytes;
    damaged[at + 20] ^= std::byte{1};
    Collected report, quick;
    const check::Totals totals = check_bytes(damaged, report);
    if (totals.damage == 0) continue;  // no chunk began there
    EXPECT_EQ(totals.damage, 1U);
    EXPECT_EQ(report.findings[0].path, "/g/checked");
    EXPECT_EQ(check_bytes(damaged, quick, true).damage, 0U);
    ++found;
  }
  EXPECT_EQ(found, 10U);
}

TEST(Check, FindsTextWhoseHeapObjectIsGone) {
  std::vector<std::byte> bytes = written_with_h5py(kSmall);
  if (bytes.empty()) GTEST_SKIP() << "h5py wrote no file";
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  bytes[all.find("beta") - 16] = std::byte{99};  // the object's number in its collection
  Collected report;
  check_bytes(bytes, report);
  ASSERT_EQ(report.of(check::Severity::Damage).size(), 1U);
  EXPECT_EQ(report.findings[0].path, "/text");
}

TEST(Check, FindsOverlapsAndACutEnd) {
  std::vector<std::byte> bytes = written_with_h5py(R"(
f.create_dataset('a', data=np.full(500, 0xAA, 'u1'))
f.create_dataset('b', data=np.full(500, 0xBB, 'u1'))
)",
                                                   "earliest");
  if (bytes.empty()) GTEST_SKIP() << "h5py wrote no file";
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t a = all.find(std::string(500, '\xAA')), b = all.find(std::string(500, '\xBB'));
  // The layout message of b leads to the middle of a.
  const auto address = static_cast<std::uint64_t>(b);
  const std::string wanted(reinterpret_cast<const char*>(&address), 8);
  const std::size_t field = all.find(wanted);
  ASSERT_NE(field, std::string_view::npos);
  std::vector<std::byte> overlapping = bytes;
  const std::uint64_t other = a + 100;
  std::memcpy(&overlapping[field], &other, 8);
  Collected report;
  check_bytes(overlapping, report);
  ASSERT_EQ(report.of(check::Severity::Damage).size(), 1U);
  EXPECT_NE(report.of(check::Severity::Damage)[0].find("overlap those of"), std::string::npos);

  bytes.resize(bytes.size() - 100);
  Collected cut;
  check_bytes(bytes, cut);
  ASSERT_FALSE(cut.findings.empty());
  EXPECT_EQ(cut.findings[0].path, "");
  EXPECT_EQ(cut.findings[0].error.code(), ErrorCode::Truncated);
}

TEST(Check, StopsWhenTheReportWantsNoMore) {
  const std::vector<std::byte> bytes = written_with_h5py(kSmall);
  if (bytes.empty()) GTEST_SKIP() << "h5py wrote no file";
  Collected report;
  report.stop = true;
  EXPECT_EQ(check_bytes(bytes, report).objects, 0U);
}

// ---- the program

struct Ended {
  int code = -1;
  std::string out;
};

Ended fsck(const std::string& words) {
  const auto program = std::filesystem::path(H5MOUNT_PROGRAM).parent_path() / "fsck.h5";
  FILE* const pipe = ::popen((program.string() + " " + words + " 2>&1").c_str(), "r");
  Ended ended;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) ended.out.append(buffer, got);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  return ended;
}

TEST(Fsck, ExitCodesAreThoseOfFsckAndAddUp) {
  std::vector<std::byte> bytes = written_with_h5py(kSmall);
  if (bytes.empty()) GTEST_SKIP() << "h5py wrote no file";
  const std::filesystem::path place = ::testing::TempDir();
  const auto write = [&](const char* name) {
    std::ofstream(place / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return (place / name).string();
  };
  const std::string sound = write("fsck_sound.h5");
  flip(bytes, places_of(bytes, "OHDR").back());
  const std::string damaged = write("fsck_damaged.h5");

  const Ended clean = fsck(sound);
  EXPECT_EQ(clean.code, 0) << clean.out;
  EXPECT_NE(clean.out.find("5 objects, 1 attributes, 10 chunks"), std::string::npos) << clean.out;
  EXPECT_EQ(fsck("-q " + sound).out, "");
  EXPECT_EQ(fsck("-a -n -C0 " + sound).code, 0);  // as fsck(8) calls it
  EXPECT_EQ(fsck("-n " + sound).code, 0);
  const Ended found = fsck("-q " + damaged);
  EXPECT_EQ(found.code, 4) << found.out;
  EXPECT_EQ(found.out.find(damaged + ":/"), 0U) << found.out;
  EXPECT_EQ(fsck((place / "fsck_none.h5").string()).code, 8);
  EXPECT_EQ(fsck("-q " + damaged + " " + (place / "fsck_none.h5").string()).code, 12);
  EXPECT_EQ(fsck("").code, 16);
  EXPECT_EQ(fsck("--no-such-option " + sound).code, 16);
  EXPECT_EQ(fsck("--help").code, 0);
}

TEST(Fsck, JsonIsAnObjectALine) {
  std::vector<std::byte> bytes = written_with_h5py(kSmall);
  if (bytes.empty()) GTEST_SKIP() << "h5py wrote no file";
  flip(bytes, places_of(bytes, "OHDR").back());
  const auto file = std::filesystem::path(::testing::TempDir()) / "fsck \"json\".h5";
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const Ended seen = fsck("--json '" + file.string() + "' | python3 -c '" + R"(
import json, sys
lines = [json.loads(line) for line in sys.stdin]
print(lines[0]["severity"], lines[-1]["damage"], lines[-1]["source"].endswith("fsck \"json\".h5"))')");
  EXPECT_EQ(seen.out, "damage 1 True\n");
}

}  // namespace
}  // namespace h5mount::test

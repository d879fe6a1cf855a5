// Files of the corpora through the mount, one test each: the project's own against h5py, those of the shared
// corpus that have a manifest through the acceptance tool that lies beside it.
#include <algorithm>

#include "command.h"

namespace h5mount::test {
namespace {

std::vector<std::string> manifests() {
  std::vector<std::string> out;
  const auto place = shared_corpus();
  if (!place) return {};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*place)) {
    const auto& path = entry.path();
    const bool hostile = path.string().find("/hostile/") != std::string::npos;
    if (path.extension() != ".json" || hostile || path.filename() == "drivers.json") continue;
    out.push_back(std::filesystem::relative(path, *place));
  }
  std::ranges::sort(out);
  return out;
}

class CorpusMountTest : public ::testing::TestWithParam<std::string> {};

TEST_P(CorpusMountTest, ShowsWhatTheManifestSays) {
  H5MOUNT_NEEDS_FUSE();
  const std::filesystem::path place = *shared_corpus();
  const auto tool = place / "../tools/verify_mount.py";
  if (!std::filesystem::exists(tool)) GTEST_SKIP() << "no verify_mount.py beside the corpus";
  const std::string python = std::filesystem::exists("/usr/bin/python3") ? "/usr/bin/python3 " : "python3 ";
  const Outcome outcome =
      run(python + (source_root() / "tests/mount/verify_any.py").string() + " " + tool.string() +
              " --h5mount $H5MOUNT '" + (place / GetParam()).string() + "'",
          600);
  if (outcome.code == 0 && outcome.out.find("0 passed, 0 failed, 1 skipped") != std::string::npos) {
    GTEST_SKIP() << "libhdf5 could not open the file either";
  }
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

std::vector<std::string> own_files() {
  std::vector<std::string> out = {"family-%d.h5 --driver=family", "split --driver=split"};
  for (const auto& entry : std::filesystem::directory_iterator(own_corpus() / "generated"))
    if (std::filesystem::exists(entry.path().string() + ".json")) out.push_back(entry.path().filename());
  std::ranges::sort(out);
  return out;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

class OwnCorpusMountTest : public ::testing::TestWithParam<std::string> {};

TEST_P(OwnCorpusMountTest, ShowsWhatH5pyReads) {
  H5MOUNT_NEEDS_CORPUS();
  H5MOUNT_NEEDS_FUSE();
  const Outcome outcome =
      run("cd " + (own_corpus() / "generated").string() + " && /usr/bin/python3 " +
              (source_root() / "scripts/compare_h5py.py").string() + " --h5mount $H5MOUNT " + GetParam(),
          300);
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find(" 0 beyond h5py; 0 differences"), std::string::npos) << outcome.out;
}

INSTANTIATE_TEST_SUITE_P(Own, OwnCorpusMountTest, ::testing::ValuesIn(own_files()), test_name);
INSTANTIATE_TEST_SUITE_P(Corpus, CorpusMountTest, ::testing::ValuesIn(manifests()), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CorpusMountTest);

}  // namespace
}  // namespace h5mount::test

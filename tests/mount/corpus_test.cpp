// Every file of the corpus that has a manifest, one test each, through the acceptance tool that lies beside
// it.
#include <algorithm>

#include "command.h"

namespace h5mount::test {
namespace {

std::vector<std::string> manifests() {
  std::vector<std::string> out;
  const auto place = corpus();
  if (!place) return {""};  // one test, which says that it was skipped
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
  H5MOUNT_NEEDS_CORPUS(place);
  H5MOUNT_NEEDS_FUSE();
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

INSTANTIATE_TEST_SUITE_P(Corpus, CorpusMountTest, ::testing::ValuesIn(manifests()),
                         [](const ::testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param.empty() ? "none" : info.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace h5mount::test

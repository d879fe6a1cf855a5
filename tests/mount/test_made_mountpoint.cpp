// Mount points that the program makes.
#include "many_files.h"

namespace h5mount::test {
namespace {

class MadeMountpointTest : public ManyFilesTest {
 protected:
  Outcome in_place(const std::string& command) const {
    return run("cd " + place.string() + " && " + command);
  }
  // It may be removed a moment after the end of the mount.
  bool removed(const std::string& name) const {
    for (int i = 0; i < 100 && std::filesystem::exists(place / name); ++i) ::usleep(20'000);
    return !std::filesystem::exists(place / name);
  }
};

TEST_F(MadeMountpointTest, IsMadePrintedAndRemoved) {
  for (const auto& [words, name] : {std::pair{"src/a.h5", "a"}, std::pair{"src/sub", "sub"}}) {
    const Outcome mounted = in_place(std::string("$H5MOUNT ") + words);
    ASSERT_EQ(mounted.code, 0) << mounted.err;
    EXPECT_EQ(mounted.out, (place / name).string() + "\n");
    EXPECT_TRUE(is_mounted(place / name));
    EXPECT_EQ(in_place(std::string("umount ") + name).code, 0);
    EXPECT_TRUE(removed(name));
  }
}

TEST_F(MadeMountpointTest, ADirectoryThatWasThereIsKept) {
  ASSERT_EQ(in_place("mkdir a").code, 0);
  ASSERT_EQ(in_place("$H5MOUNT src/a.h5").out, (place / "a").string() + "\n");
  ASSERT_EQ(in_place("umount a").code, 0);
  ASSERT_TRUE(wait_until_gone(place / "a"));
  ::usleep(200'000);
  EXPECT_TRUE(std::filesystem::is_directory(place / "a"));
  ASSERT_EQ(in_place("touch a/x").code, 0);
  const Outcome refused = in_place("$H5MOUNT src/a.h5");
  EXPECT_EQ(refused.code, 32);
  EXPECT_NE(refused.err.find("no empty directory"), std::string::npos) << refused.err;
  const Outcome itself = in_place("$H5MOUNT src");
  EXPECT_EQ(itself.out, (place / "src.mount").string() + "\n") << itself.err;
  EXPECT_EQ(in_place("umount src.mount").code, 0);
  EXPECT_TRUE(removed("src.mount"));
}

TEST_F(MadeMountpointTest, NothingIsLeftWhereTheMountFails) {
  EXPECT_EQ(in_place("$H5MOUNT src/bad.h5").code, 2);
  EXPECT_EQ(in_place("$H5MOUNT -o subtype=a,b=c src/a.h5").code, 1);
  EXPECT_FALSE(std::filesystem::exists(place / "bad"));
  EXPECT_FALSE(std::filesystem::exists(place / "a"));
}

// Root has no rights left over the directories of others when the mount ends.
TEST_F(MadeMountpointTest, IsRemovedFromSomebodyElsesDirectory) {
  H5MOUNT_NEEDS_ROOT();
  ASSERT_EQ(in_place("mkdir theirs && chown 65534:65534 theirs && chmod 755 theirs").code, 0);
  ASSERT_EQ(run("cd " + (place / "theirs").string() + " && $H5MOUNT ../src/a.h5").code, 0);
  EXPECT_TRUE(is_mounted(place / "theirs/a"));
  EXPECT_EQ(in_place("umount theirs/a").code, 0);
  EXPECT_TRUE(removed("theirs/a"));
}

}  // namespace
}  // namespace h5mount::test

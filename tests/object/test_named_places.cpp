// NamedPlaces: which names lead beneath a file's directory, and which out of it.
#include "h5mount/object/named_places.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "h5mount/object/file_set.h"

namespace h5mount::object {
namespace {

namespace fs = std::filesystem;

// top/out, top/in/{file, below/file, inside -> below, outside -> .., escape -> ../out, gone -> nowhere}
class NamedPlacesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(top_);
    fs::create_directories(in_ / "below");
    for (const fs::path& path : {top_ / "out", in_ / "file", in_ / "below/file"}) std::ofstream(path) << "x";
    fs::create_symlink("below", in_ / "inside");
    fs::create_symlink("..", in_ / "outside");
    fs::create_symlink("../out", in_ / "escape");
    fs::create_symlink(top_ / "out", in_ / "absolute");
    fs::create_symlink("nowhere", in_ / "gone");
  }

  const fs::path top_ = fs::canonical(testing::TempDir()) / "named_places";
  const fs::path in_ = top_ / "in";
  const OpenedFile file_{nullptr, in_ / "f.h5", in_};
};

TEST_F(NamedPlacesTest, BeneathIsWhatDoesNotLeadOut) {
  const NamedPlaces places(file_);
  for (const char* name : {"file", "below/file", "inside/file", "inside/../below/file", "below/../file",
                           "gone", "not/there", "below/not_there", "."})
    EXPECT_TRUE(places.is_beneath(name)) << name;
  EXPECT_TRUE(places.is_beneath(in_ / "below/file"));
  for (const char* name :
       {"..", "../out", "../in/file", "below/../../out", "not/../../there", "outside/out",
        "outside/not_there", "escape", "absolute", "/etc/passwd", "/not/there", "https://example.org/x.h5",
        "s3://bucket/x.h5", "file:///etc/passwd", "..\\out", "C:\\x.h5", "\\\\server\\x.h5"})
    EXPECT_FALSE(places.is_beneath(name)) << name;
  EXPECT_FALSE(places.is_beneath(std::string("fi\0le", 5)));
  EXPECT_FALSE(places.is_beneath(top_ / "in2"));
  EXPECT_TRUE(places.exists_beneath("inside/file"));
  EXPECT_FALSE(places.exists_beneath("gone"));
  EXPECT_FALSE(places.exists_beneath("escape"));
}

// A link there may lead anywhere.
TEST_F(NamedPlacesTest, NothingIsBeneathADirectoryThatCannotBeOpened) {
  EXPECT_FALSE(NamedPlaces({nullptr, top_ / "gone/f.h5", top_ / "gone"}).is_beneath("file"));
}

// Where a file is opened by a symbolic link, names are sought beside the link, and beside its target.
TEST_F(NamedPlacesTest, TheDirectoryOfATargetCounts) {
  const fs::path store = top_ / "store";
  fs::create_directories(store);
  std::ofstream(store / "other") << "x";
  fs::create_symlink("../store/other", in_ / "other");
  EXPECT_FALSE(NamedPlaces(file_).is_beneath("other"));
  const NamedPlaces places({nullptr, in_ / "f.h5", in_, store});
  EXPECT_TRUE(places.is_beneath("other"));
  EXPECT_FALSE(places.is_beneath("escape"));
  EXPECT_FALSE(places.is_beneath("../store/other"));
}

TEST(NamedPlaces, TextDecidesWithoutADirectory) {
  for (const OpenedFile& file : {OpenedFile{}, OpenedFile{nullptr, "https://example.org/a/f.h5"}}) {
    const NamedPlaces places(file);
    EXPECT_TRUE(places.is_beneath("b/c.h5"));
    EXPECT_FALSE(places.is_beneath("../c.h5"));
    EXPECT_FALSE(places.is_beneath("/c.h5"));
    EXPECT_FALSE(places.is_beneath("https://example.org/a/c.h5"));
  }
}

}  // namespace
}  // namespace h5mount::object

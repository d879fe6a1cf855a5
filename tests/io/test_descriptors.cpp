// Files that can be reopened hold a bounded number of descriptors. Reads succeed regardless, unless another
// file has taken the name.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "h5mount/io/byte_source.h"
#include "h5mount/io/descriptors.h"

namespace h5mount::io {
namespace {

namespace fs = std::filesystem;

class DescriptorTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "h5mount-descriptors-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    set_descriptor_budget(kBudget);
  }
  void TearDown() override {
    set_descriptor_budget(1024);
    fs::remove_all(directory_);
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    return directory_ / name;
  }
  static std::shared_ptr<ByteSource> open(const std::string& path) {
    const auto descriptor = [path]() -> Result<int> {
      const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd < 0) return fail(Error(ErrorCode::NotFound, path));
      return fd;
    };
    return *make_file_source(*descriptor(), path, descriptor);
  }
  static std::string text_of(const ByteSource& source) {
    std::string out(4, '?');
    const auto read = source.read_at(0, std::as_writable_bytes(std::span(out)));
    return read ? out : std::string(error_code_name(read.error().code()));
  }

  static constexpr std::size_t kBudget = 4;
  fs::path directory_;
};

TEST_F(DescriptorTest, FewAreOpenHoweverManyFilesAreRead) {
  std::vector<std::shared_ptr<ByteSource>> sources;
  for (int i = 1000; i < 1040; ++i) sources.push_back(open(write(std::to_string(i), std::to_string(i))));
  EXPECT_LE(open_descriptor_count(), kBudget);
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 40; ++i) {
      EXPECT_EQ(text_of(*sources[i]), std::to_string(1000 + i));
      EXPECT_LE(open_descriptor_count(), kBudget);
    }
  sources.clear();
  EXPECT_EQ(open_descriptor_count(), 0U);
}

TEST_F(DescriptorTest, TheLeastRecentlyUsedIsClosed) {
  const std::string path = write("kept", "kept");
  const auto kept = open(path);
  std::vector<std::shared_ptr<ByteSource>> others;
  for (int i = 1000; i < 1020; ++i) {
    others.push_back(open(write(std::to_string(i), std::to_string(i))));
    EXPECT_EQ(text_of(*kept), "kept");
  }
  // Its descriptor was never closed: it is readable although its name was removed.
  fs::remove(path);
  EXPECT_EQ(text_of(*kept), "kept");
}

TEST_F(DescriptorTest, FilesAreUsedWhileTheOldestAreLookedFor) {
  constexpr int kFiles = 800;
  std::vector<std::shared_ptr<ByteSource>> sources;
  set_descriptor_budget(kFiles + 1);
  for (int i = 1000; i < 1000 + kFiles; ++i)
    sources.push_back(open(write(std::to_string(i), std::to_string(i))));
  std::atomic<bool> done = false;
  std::vector<std::jthread> readers;
  for (int first = 0; first < 3; ++first)
    readers.emplace_back([&, first] {
      for (int i = first; !done; i = (i + 1) % kFiles)
        EXPECT_EQ(text_of(*sources[i]), std::to_string(1000 + i));
    });
  for (int round = 0; round < 100; ++round) {
    while (open_descriptor_count() < kFiles * 3 / 4) std::this_thread::yield();
    set_descriptor_budget(kFiles / 2);
    set_descriptor_budget(kFiles + 1);
  }
  done = true;
}

TEST_F(DescriptorTest, AnotherFileOfTheNameIsStale) {
  const auto source = open(write("a", "old!"));
  close_idle_descriptors();
  set_descriptor_budget(1);
  const auto other = open(write("b", "othr"));
  write("c", "new!");
  fs::rename(directory_ / "c", directory_ / "a");
  EXPECT_EQ(text_of(*source), "stale");
  const auto stamp = source->state().stamp();
  ASSERT_TRUE(stamp);
  EXPECT_TRUE(stamp->replaced);
  fs::remove(directory_ / "a");
  EXPECT_EQ(text_of(*source), "stale");
}

TEST_F(DescriptorTest, AMappingOutlivesItsDescriptor) {
  const auto source = open(write("a", "mapd"));
  const ByteSpan before = source->mapped(0, 4);
  ASSERT_EQ(before.size(), 4U);
  set_descriptor_budget(1);
  const auto other = open(write("b", "othr"));
  EXPECT_EQ(source->mapped(0, 4).data(), before.data());
  EXPECT_EQ(std::memcmp(before.data(), "mapd", 4), 0);
}

TEST(RefusedSource, EveryReadFails) {
  const auto source = make_refused_source(Error(ErrorCode::AccessDenied, "not allowed"), 100, "member");
  EXPECT_EQ(source->size(), 100U);
  EXPECT_EQ(source->stored_bytes(), 0U);
  std::byte byte{};
  EXPECT_EQ(source->read_at(5, {&byte, 1}).error().code(), ErrorCode::AccessDenied);
}

}  // namespace
}  // namespace h5mount::io

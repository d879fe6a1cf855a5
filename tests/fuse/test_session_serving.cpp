// How the session serves: slow reads, many readers, the end.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdio>

#include "session_fixture.h"

namespace h5mount::test {
namespace {

TEST_F(SessionTest, SlowReadersDoNotHoldUpStat) {
  hold_reads();
  const Mounted mount(tree);
  std::vector<std::thread> readers;
  for (int i = 0; i < 31; ++i) {
    readers.emplace_back([&, i] {
      alignas(4096) char page[4096];
      const int fd = ::open(mount.path("big").c_str(), O_RDONLY | O_DIRECT);
      EXPECT_GE(::pread(fd, page, sizeof page, i * 4096), -1);
      ::close(fd);
    });
  }
  for (int i = 0; i < 500 && waiting < 31; ++i) ::usleep(10'000);
  EXPECT_EQ(waiting, 31);
  struct stat seen = {};
  EXPECT_EQ(::stat(mount.path("dir/inner").c_str(), &seen), 0);
  release = true;
  for (auto& reader : readers) reader.join();
}

// The thread that serves it neither ends nor asks whether it should.
TEST_F(SessionTest, AKilledReaderIsGoneWhileItsReadHangs) {
  hold_reads();
  {
    const Mounted mount(tree);
    const std::string path = mount.path("big");
    for (const int flags : {O_DIRECT, 0}) {
      const int before = waiting;
      const pid_t reader = ::fork();
      ASSERT_GE(reader, 0);
      if (reader == 0) {
        alignas(4096) static char page[4096];
        const int fd = ::open(path.c_str(), O_RDONLY | flags);
        ::_exit(::pread(fd, page, sizeof page, 0) < 0 ? 1 : 0);
      }
      while (waiting == before) ::usleep(1000);
      ::kill(reader, SIGKILL);
      int status = 0;
      pid_t gone = 0;
      for (int i = 0; i < 1000 && gone == 0; ++i) {
        gone = ::waitpid(reader, &status, WNOHANG);
        if (gone == 0) ::usleep(10'000);
      }
      EXPECT_EQ(gone, reader) << flags;
      EXPECT_TRUE(gone == reader && WIFSIGNALED(status)) << flags;
      struct stat seen = {};
      EXPECT_EQ(::stat(mount.path("dir/inner").c_str(), &seen), 0);
    }
    release = true;
  }
}

// The descriptor's number may then be another file's.
TEST_F(SessionTest, NothingIsWrittenToTheKernelAfterTheEnd) {
  Mounted mount(tree);
  const std::shared_ptr<tree::KernelPages> kernel = tree->kernel();
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(slurp(mount.path("small")), "hello\n");
  const std::string page(4096, 'x');
  std::atomic<bool> enough = false;
  std::thread writer([&] {
    dataset::Pieces pieces;
    pieces.add(as_bytes(page), nullptr);
    while (!enough) {
      kernel->store(big_id, 4096, pieces);
      kernel->invalidate(big_id, {{0, 4096}}, nullptr);
      std::this_thread::yield();
    }
  });
  std::vector<std::FILE*> files;
  std::thread ending([&] { mount.end(); });
  for (int i = 0; i < 200; ++i) {
    files.push_back(std::tmpfile());
    ASSERT_NE(files.back(), nullptr);
    ::usleep(1000);
  }
  ending.join();
  for (int i = 0; i < 50; ++i) {
    files.push_back(std::tmpfile());
    ::usleep(1000);
  }
  enough = true;
  writer.join();
  for (std::FILE* const file : files) {
    struct stat seen = {};
    EXPECT_EQ(::fstat(::fileno(file), &seen), 0);
    EXPECT_EQ(seen.st_size, 0);
    std::fclose(file);
  }
}

// More readers than threads, each in a read that takes long without notice.
TEST_F(SessionTest, FiveHundredReadersDoNotHoldUpALookup) {
  constexpr int kReaders = 500;
  std::atomic<int> begun = 0;
  tree->on_read = [&](tree::NodeId, std::uint64_t offset, std::uint64_t length,
                      dataset::Pieces& out) -> Status {
    ++begun;
    while (!release) ::usleep(1000);
    out.add(as_bytes(std::string_view(big).substr(offset, length)), nullptr);
    return {};
  };
  const Mounted mount(tree);
  std::atomic<int> right = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&, i] {
      alignas(4096) char page[4096];
      const int fd = ::open(mount.path("big").c_str(), O_RDONLY | O_DIRECT);
      const auto at = static_cast<std::size_t>(i) * sizeof page;
      if (::pread(fd, page, sizeof page, static_cast<off_t>(at)) == sizeof page &&
          big.compare(at, sizeof page, page, sizeof page) == 0)
        ++right;
      ::close(fd);
    });
  }
  // All threads but the one that leads are in a read; a loop for each ring has as many.
  for (int i = 0; i < 3000 && begun < 63; ++i) ::usleep(10'000);
  EXPECT_GE(begun, 63);
  for (int i = 0; i < 100; ++i) {
    struct stat seen = {};
    EXPECT_EQ(::stat(mount.path(fmt::format("none{}", i)).c_str(), &seen), -1);
    EXPECT_EQ(errno, ENOENT);
  }
  EXPECT_LT(begun, kReaders);  // many wait still
  release = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(right, kReaders);
}

TEST_F(SessionTest, AMountThatIsUnmountedWhileItReadsEndsInOrder) {
  hold_reads();
  Mounted mount(tree);
  std::thread reader([&] {
    alignas(4096) char page[4096];
    const int fd = ::open(mount.path("big").c_str(), O_RDONLY | O_DIRECT);
    EXPECT_EQ(::pread(fd, page, sizeof page, 0), 0);
    ::close(fd);
  });
  while (waiting == 0) ::usleep(1000);
  std::thread later([&] {
    ::usleep(50'000);
    release = true;
  });
  EXPECT_EQ(mount.end(), 0);
  reader.join();
  later.join();
}

TEST_F(SessionTest, UnmountingEndsServeInOrder) {
  Mounted mount(tree);
  EXPECT_EQ(mount.end(), 0);
}

TEST_F(SessionTest, OneThreadServesAsWell) {
  fuse::SessionOptions options;
  options.single_thread = true;
  Mounted mount(tree, options);
  EXPECT_EQ(slurp(mount.path("big")), big);
  EXPECT_EQ(mount.end(), 0);
}

}  // namespace
}  // namespace h5mount::test

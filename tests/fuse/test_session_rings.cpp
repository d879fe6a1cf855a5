// Requests by io_uring. What the other tests of sessions hold holds here too: they use it where the kernel's
// parameter is set.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cstdarg>
#include <string>
#include <thread>
#include <vector>

#include "h5mount/io/byte_source.h"
#include "session_fixture.h"
#include "support/rings_allowed.h"

namespace {
std::atomic<int> submissions_refused = 0;  // of the next ones, as if the kernel were short of memory
}

// Replaces libc's function in all of this program, as IoUring calls the kernel by it.
extern "C" long syscall(long number, ...) noexcept {
  std::array<long, 6> words{};
  va_list list;
  va_start(list, number);
  for (long& word : words) word = va_arg(list, long);
  va_end(list);
  if (number == SYS_io_uring_enter && words[1] > 0 && submissions_refused > 0) {
    --submissions_refused;
    errno = EAGAIN;
    return -1;
  }
  static const auto call = reinterpret_cast<long (*)(long, ...)>(::dlsym(RTLD_NEXT, "syscall"));
  return call(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

namespace h5mount::test {
namespace {

class SessionRingsTest : public SessionTest {
 protected:
  // Options of a session that notes whether it uses rings.
  fuse::SessionOptions noting() {
    fuse::SessionOptions out;
    out.on_rings = [this] { used = true; };
    return out;
  }
  std::atomic<bool> used = false;
};

// The reader does not hold the mount's own descriptors: if this process ends, so does the mount.
pid_t start_reader(const std::string& path, int flags, off_t at) {
  const pid_t reader = ::fork();
  if (reader != 0) return reader;
  ::close_range(3, ~0U, 0);
  alignas(4096) static char page[4096];
  const int fd = ::open(path.c_str(), O_RDONLY | flags);
  ::_exit(::pread(fd, page, sizeof page, at) < 0 ? 1 : 0);
}

bool ends_within_ten_seconds(pid_t child) {
  for (int i = 0; i < 1000; ++i) {
    if (::waitpid(child, nullptr, WNOHANG) == child) return true;
    ::usleep(10'000);
  }
  return false;
}

TEST_F(SessionRingsTest, ShowTheSameBytesNamesAndErrors) {
  const RingsAllowed allowed;
  H5MOUNT_NEEDS_RINGS(allowed);
  const Mounted mount(tree, noting());
  EXPECT_TRUE(used);
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) readers.emplace_back([&] { EXPECT_EQ(slurp(mount.path("big")), big); });
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(slurp(mount.path("dir/up")), "hello\n");
  struct stat seen = {};
  EXPECT_EQ(::stat(mount.path("missing").c_str(), &seen), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(::open(mount.path("small").c_str(), O_WRONLY), -1);
  EXPECT_EQ(errno, EROFS);
}

TEST_F(SessionRingsTest, AreNotUsedWhereTheKernelDoesNotAllowThem) {
  const RingsAllowed forbidden(false);
  {
    const Mounted mount(tree, noting());
    EXPECT_EQ(slurp(mount.path("small")), "hello\n");
  }
  EXPECT_FALSE(used);
}

TEST_F(SessionRingsTest, AreNotUsedWhereASourceMayHang) {
  const RingsAllowed allowed;
  tree->tells = false;
  {
    const Mounted mount(tree, noting());
    EXPECT_EQ(slurp(mount.path("small")), "hello\n");
  }
  EXPECT_FALSE(used);
}

// More than the entries that a ring has at first, all from one processor.
TEST_F(SessionRingsTest, HaveRoomForManyRequestsAtATime) {
  const RingsAllowed allowed;
  H5MOUNT_NEEDS_RINGS(allowed);
  hold_reads();
  const Mounted mount(tree, noting());
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  if (CPU_ISSET(0, &before)) ::sched_setaffinity(0, sizeof one, &one);
  constexpr int kReaders = 40;
  std::vector<pid_t> readers;
  for (int i = 0; i < kReaders; ++i) readers.push_back(start_reader(mount.path("big"), O_DIRECT, i * 4096));
  for (int i = 0; i < 1000 && waiting < kReaders; ++i) ::usleep(10'000);
  EXPECT_EQ(waiting, kReaders);
  struct stat seen = {};
  EXPECT_EQ(::stat(mount.path("dir/inner").c_str(), &seen), 0);
  ::sched_setaffinity(0, sizeof before, &before);
  release = true;
  for (const pid_t reader : readers) EXPECT_TRUE(ends_within_ten_seconds(reader));
}

// Large reads are then left to idle threads.
TEST_F(SessionRingsTest, LargeReadsAreServedBesideSmallRequestsOfOthers) {
  const RingsAllowed allowed;
  H5MOUNT_NEEDS_RINGS(allowed);
  const Mounted mount(tree, noting());
  constexpr std::size_t kLarge = 256U << 10;
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      std::string bytes(kLarge, '\0');
      const int fd = ::open(mount.path("big").c_str(), O_RDONLY | O_DIRECT);
      for (std::size_t round = 0; round < 200; ++round) {
        const std::size_t at = round % 10 * kLarge;
        ASSERT_EQ(::pread(fd, bytes.data(), kLarge, static_cast<off_t>(at)), static_cast<ssize_t>(kLarge));
        ASSERT_TRUE(bytes == big.substr(at, kLarge)) << round;
      }
      ::close(fd);
    });
  }
  std::thread other([&] {
    for (int i = 0; !done; ++i) {
      struct stat seen = {};
      EXPECT_EQ(::stat(mount.path("missing " + std::to_string(i)).c_str(), &seen), -1);
    }
  });
  for (auto& reader : readers) reader.join();
  done = true;
  other.join();
}

// First the entries are refused, then answers of threads that do not lead: each has to submit its own again.
TEST_F(SessionRingsTest, AKernelShortOfMemoryIsAskedAgain) {
  const RingsAllowed allowed;
  H5MOUNT_NEEDS_RINGS(allowed);
  hold_reads();
  submissions_refused = 20;
  const Mounted mount(tree, noting());
  EXPECT_TRUE(used);
  EXPECT_EQ(submissions_refused, 0);
  std::vector<pid_t> readers;
  for (int i = 0; i < 3; ++i) readers.push_back(start_reader(mount.path("big"), O_DIRECT, i * 4096));
  for (int i = 0; i < 1000 && waiting < 3; ++i) ::usleep(10'000);
  submissions_refused = 9;
  release = true;
  for (const pid_t reader : readers) EXPECT_TRUE(ends_within_ten_seconds(reader));
  EXPECT_EQ(submissions_refused, 0);
}

TEST_F(SessionRingsTest, AFileCutShortBehindItsMappingIsEio) {
  const RingsAllowed allowed;
  H5MOUNT_NEEDS_RINGS(allowed);
  const int fd = ::memfd_create("source", 0);
  ASSERT_EQ(::ftruncate(fd, 1 << 20), 0);
  const auto source = io::make_file_source(fd, "source");
  ASSERT_TRUE(source);
  ASSERT_EQ(::ftruncate(fd, 4096), 0);
  tree->on_read = [&](tree::NodeId, std::uint64_t offset, std::uint64_t length,
                      dataset::Pieces& out) -> Status {
    EXPECT_TRUE(out.add_mapped(**source, offset, std::min<std::uint64_t>(length, (1 << 20) - offset)));
    return {};
  };
  const Mounted mount(tree, noting());
  char page[65536];
  const int file = ::open(mount.path("big").c_str(), O_RDONLY | O_DIRECT);
  EXPECT_EQ(::pread(file, page, sizeof page, 0), -1);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(::pread(file, page, 4096, 0), 4096);
  ::close(file);
}

TEST_F(SessionRingsTest, AKilledReaderIsGoneWhileItsReadHangs) {
  const RingsAllowed allowed;
  H5MOUNT_NEEDS_RINGS(allowed);
  hold_reads();
  {
    const Mounted mount(tree, noting());
    for (const int flags : {O_DIRECT, 0}) {
      const int before = waiting;
      const pid_t reader = start_reader(mount.path("big"), flags, 0);
      while (waiting == before) ::usleep(1000);
      ::kill(reader, SIGKILL);
      EXPECT_TRUE(ends_within_ten_seconds(reader)) << flags;
    }
    release = true;
  }
}

TEST_F(SessionRingsTest, EndAtAnyMoment) {
  const RingsAllowed allowed;
  H5MOUNT_NEEDS_RINGS(allowed);
  for (int moment = 0; moment < 20; ++moment) {
    auto mount = std::make_unique<Mounted>(tree, noting());
    const std::string path = mount->path("big");
    std::vector<pid_t> readers;
    for (int i = 0; i < 3; ++i) readers.push_back(start_reader(path, O_DIRECT, i * 4096));
    ::usleep(static_cast<useconds_t>(moment * 500));
    EXPECT_EQ(mount->end(), 0) << moment;
    mount.reset();
    for (const pid_t reader : readers) EXPECT_TRUE(ends_within_ten_seconds(reader)) << moment;
  }
}

}  // namespace
}  // namespace h5mount::test

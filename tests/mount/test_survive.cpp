// A mount that survives its server: -o survive.
#include <signal.h>

#include "command.h"
#include "test_paths.h"

namespace h5mount::test {
namespace {

pid_t server_of(const std::string& mount) {
  const std::string status = slurp(mount + "/.h5/status");
  const std::size_t at = status.find("\npid: ");
  return at == std::string::npos ? -1 : std::atoi(status.c_str() + at + 6);
}

pid_t parent_of(pid_t process) {
  const std::string status = slurp("/proc/" + std::to_string(process) + "/status");
  const std::size_t at = status.find("PPid:");
  return at == std::string::npos ? -1 : std::atoi(status.c_str() + at + 5);
}

std::string words_of(pid_t process) {
  return slurp("/proc/" + std::to_string(process) + "/cmdline");
}

// A copy of the example, which a test may change.
std::filesystem::path own_copy(const std::string& name) {
  const std::filesystem::path out = scratch() / name;
  std::filesystem::copy_file(example(), out, std::filesystem::copy_options::overwrite_existing);
  return out;
}

class SurviveTest : public ::testing::Test {
 protected:
  void SetUp() override { H5MOUNT_NEEDS_FUSE(); }
  void begin(const std::filesystem::path& file, const std::string& options = {}) {
    const Outcome mounted = mount.mount(file, "-o survive" + options);
    ASSERT_EQ(mounted.code, 0) << mounted.err;
    server = server_of(mount.path());
    ASSERT_GT(server, 0);
    keeper = parent_of(server);
  }
  // Changes the source while no server can see it.
  template <class Change>
  void change_between_servers(Change&& change) const {
    ::kill(server, SIGSTOP);
    std::forward<Change>(change)();
    ::kill(server, SIGKILL);
  }
  bool keeper_is_gone() const {
    for (int i = 0; i < 500; ++i) {
      const std::string state = slurp("/proc/" + std::to_string(keeper) + "/status");
      if (state.empty() || state.find("State:\tZ") != std::string::npos) return true;
      ::usleep(10'000);
    }
    return false;
  }
  // Some file below the mount point that is not empty, and its path there.
  std::string some_file() const {
    return run("find " + mount.path() +
               " -name .h5 -prune -o -type f -size +0 -print | head -1 | tr -d '\\n'")
        .out;
  }

  MountPoint mount;
  pid_t server = -1, keeper = -1;
};

TEST_F(SurviveTest, AFileThatIsOpenIsReadOnWhenItsServerIsKilled) {
  begin(example());
  const std::string path = some_file();
  ASSERT_FALSE(path.empty());
  const std::string before = slurp(path);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  for (int kills = 0; kills < 3; ++kills) {
    ::kill(server, SIGKILL);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    std::string now(before.size(), '\0');
    EXPECT_EQ(::pread(file, now.data(), now.size(), 0), static_cast<ssize_t>(now.size()))
        << std::strerror(errno);
    EXPECT_EQ(now, before);
    const pid_t next = server_of(mount.path());
    EXPECT_NE(next, server);
    EXPECT_EQ(parent_of(next), keeper);
    server = next;
  }
  EXPECT_NE(slurp(mount.path(".h5/log")).find("another server"), std::string::npos);
  ::close(file);
  EXPECT_EQ(run("umount " + mount.path()).code, 0);
  EXPECT_TRUE(keeper_is_gone());
}

TEST_F(SurviveTest, TheKeeperDoesNotHaveTheMountPointOnItsCommandLine) {
  begin(example());
  EXPECT_EQ(words_of(keeper).find(mount.path()), std::string::npos) << words_of(keeper);
  EXPECT_NE(words_of(keeper).find("h5mount-keeper"), std::string::npos);
  EXPECT_NE(words_of(server).find(mount.path()), std::string::npos);
  EXPECT_EQ(run("pkill -9 -f " + mount.path() + "/*").code & 1, 0);
  EXPECT_FALSE(run("ls " + mount.path()).out.empty());
}

TEST_F(SurviveTest, TheEndOfTheKeeperOrOfTheMountIsTheEndOfBoth) {
  begin(example());
  ::kill(keeper, SIGTERM);
  EXPECT_TRUE(keeper_is_gone());
  EXPECT_TRUE(mount.gone());
  begin(example());
  ::kill(server, SIGTERM);
  EXPECT_TRUE(keeper_is_gone());
  EXPECT_TRUE(mount.gone());
}

TEST_F(SurviveTest, AServerThatIsAskedToIsReplacedByTheInstalledProgram) {
  begin(example());
  const std::string path = some_file();
  const std::string before = slurp(path);
  ::kill(keeper, SIGUSR2);
  for (int i = 0; i < 500 && server_of(mount.path()) == server; ++i) ::usleep(10'000);
  const pid_t next = server_of(mount.path());
  EXPECT_NE(next, server);
  EXPECT_EQ(parent_of(next), keeper);
  EXPECT_EQ(slurp(path), before);
}

// The program that made the mount is another one than the installed one by then, and goes on from its own
// file.
TEST_F(SurviveTest, AnInstalledProgramThatHangsIsLeftForTheOwnOne) {
  const std::filesystem::path program = scratch() / "h5mount-of-its-own", sleeping = scratch() / "sleeping";
  ASSERT_EQ(run("cp $H5MOUNT '" + program.string() + "'").code, 0);
  const Outcome mounted =
      run("'" + program.string() + "' -o survive=1 '" + example().string() + "' " + mount.path());
  ASSERT_EQ(mounted.code, 0) << mounted.err;
  server = server_of(mount.path());
  keeper = parent_of(server);
  const std::string path = some_file(), before = slurp(path);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  ASSERT_EQ(run("printf '#!/bin/sh\nexec sleep 60\n' > '" + sleeping.string() + "' && chmod +x '" +
                sleeping.string() + "' && mv '" + sleeping.string() + "' '" + program.string() + "'")
                .code,
            0);
  ::kill(keeper, SIGUSR2);
  for (int i = 0; i < 500 && server_of(mount.path()) == server; ++i) ::usleep(10'000);
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  std::string now(before.size(), '\0');
  EXPECT_EQ(::pread(file, now.data(), now.size(), 0), static_cast<ssize_t>(now.size()))
      << std::strerror(errno);
  EXPECT_EQ(now, before);
  ::close(file);
  const pid_t next = server_of(mount.path());
  EXPECT_NE(next, server);
  EXPECT_EQ(parent_of(next), keeper);
  EXPECT_EQ(words_of(next).find("sleep"), std::string::npos);
}

TEST_F(SurviveTest, FiveServersThatEndBeforeTheyServeEndTheMount) {
  begin(example());
  const std::string children =
      "/proc/" + std::to_string(keeper) + "/task/" + std::to_string(keeper) + "/children";
  for (int i = 0; i < 100'000 && mount.mounted(); ++i) {
    if (const pid_t child = std::atoi(slurp(children).c_str()); child > 0) ::kill(child, SIGKILL);
    ::usleep(200);
  }
  EXPECT_TRUE(mount.gone());
  EXPECT_TRUE(keeper_is_gone());
}

TEST_F(SurviveTest, ASourceThatWasRewrittenWhileNoServerRanIsStale) {
  const auto file = own_copy("survive_rewritten.h5");
  begin(file);
  const std::string path = some_file();
  const int open = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(open, 0);
  std::string byte(1, '\0');
  change_between_servers(
      [&] { run("printf X | dd of='" + file.string() + "' bs=1 seek=3000 conv=notrunc"); });
  ::posix_fadvise(open, 0, 0, POSIX_FADV_DONTNEED);
  EXPECT_EQ(::pread(open, byte.data(), 1, 0), -1);
  EXPECT_EQ(errno, ESTALE);
  ::close(open);
}

TEST_F(SurviveTest, AFileOfADirectoryThatWasReplacedWhileNoServerRanIsTheNewOne) {
  const auto directory = scratch() / "survive_many";
  std::filesystem::create_directories(directory);
  const auto write = [&](const std::string& name, const std::string& value) {
    const std::string file = (directory / name).string();
    run("/usr/bin/python3 -c \"import h5py; h5py.File('" + file + ".new', 'w')['d'] = [" + value +
        "] * 5000\" && mv '" + file + ".new' '" + file + "'");
  };
  write("a.h5", "1");
  write("b.h5", "2");
  begin(directory);
  const std::string a = slurp(mount.path("a.h5/d")), b = slurp(mount.path("b.h5/d"));
  ASSERT_EQ(a.size(), 40'000U);
  const int open = ::open(mount.path("a.h5/d").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(open, 0);
  write("c.h5", "5");  // the kernel is told that the root changed, and has no attributes of it then
  ::usleep(500'000);
  change_between_servers([&] { write("a.h5", "3, 4"); });
  EXPECT_NE(server_of(mount.path()), server);
  ::posix_fadvise(open, 0, 0, POSIX_FADV_DONTNEED);
  std::string byte(1, '\0');
  EXPECT_EQ(::pread(open, byte.data(), 1, 0), -1);
  EXPECT_EQ(errno, ESTALE);
  for (int i = 0; i < 500 && slurp(mount.path("a.h5/d")).size() != 80'000U; ++i) ::usleep(10'000);
  EXPECT_EQ(slurp(mount.path("a.h5/d")).size(), 80'000U);
  EXPECT_EQ(slurp(mount.path("b.h5/d")), b);
  ::close(open);
}

TEST_F(SurviveTest, ASourceThatIsGoneIsStale) {
  const auto file = own_copy("survive_gone.h5");
  begin(file);
  const std::string path = some_file();
  const int open = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(open, 0);
  change_between_servers([&] { std::filesystem::remove(file); });
  ::posix_fadvise(open, 0, 0, POSIX_FADV_DONTNEED);
  std::string byte(1, '\0');
  EXPECT_EQ(::pread(open, byte.data(), 1, 0), -1);
  EXPECT_EQ(errno, ESTALE);
  ::close(open);
  EXPECT_EQ(run("umount " + mount.path()).code, 0);
  EXPECT_TRUE(keeper_is_gone());
}

TEST_F(SurviveTest, AMountThatFailsSaysSoAtOnce) {
  const Outcome none = mount.mount(scratch() / "no such file.h5", "-o survive");
  EXPECT_EQ(none.code, mount.mount(scratch() / "no such file.h5").code);
  EXPECT_NE(none.err.find("no such file.h5"), std::string::npos) << none.err;
  const Outcome both = mount.mount(example(), "-o survive,auto_unmount");
  EXPECT_EQ(both.code, 1);
  EXPECT_NE(both.err.find("leave one of them out"), std::string::npos) << both.err;
  EXPECT_FALSE(mount.mounted());
}

TEST_F(SurviveTest, AFileThatGrowsIsFollowedFromServerToServer) {
  const Outcome grown =
      run("/usr/bin/python3 " H5MOUNT_SOURCE_ROOT "/tests/mount/survive_growth.py $H5MOUNT '" +
              (scratch() / "survive_growth.h5").string() + "' " + mount.path(),
          120);
  EXPECT_EQ(grown.code, 0) << grown.out << grown.err;
}

TEST_F(SurviveTest, SystemdsStoreOutlivesTheKeeper) {
  const Outcome stored = run("/usr/bin/python3 " H5MOUNT_SOURCE_ROOT "/tests/mount/fd_store.py $H5MOUNT '" +
                             example().string() + "' " + mount.path());
  EXPECT_EQ(stored.code, 0) << stored.out << stored.err;
}

TEST_F(SurviveTest, ReadersSeeNothingOfServersThatAreKilledEverySecond) {
  const std::string soak =
      "/usr/bin/python3 " H5MOUNT_SOURCE_ROOT "/tests/soak/run.py survive $H5MOUNT --minutes 1 --kills ";
  const Outcome one = run(soak + "10", 120);
  EXPECT_EQ(one.code, 0) << one.out << one.err;
  const Outcome many = run(soak + "6 --directory", 120);
  EXPECT_EQ(many.code, 0) << many.out << many.err;
}

}  // namespace
}  // namespace h5mount::test

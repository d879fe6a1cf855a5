// How a mount begins and ends: signals that were inherited as ignored, standard streams that are closed, a
// dead mount.
#include <signal.h>
#include <sys/stat.h>

#include <map>
#include <sstream>
#include <thread>
#include <tuple>

#include "command.h"
#include "test_paths.h"

namespace h5mount::test {
namespace {

class EndingsTest : public ::testing::Test {
 protected:
  void SetUp() override { H5MOUNT_NEEDS_FUSE(); }
  void unmount() const {
    run("umount " + mount.path() + " 2>/dev/null || fusermount3 -u " + mount.path());
    EXPECT_TRUE(mount.gone());
  }
  MountPoint mount;
};

// The program in the foreground, started by a shell that has said `before`.
class Served {
 public:
  Served(const MountPoint& mount, const std::string& before, const std::string& options = "-f",
         const std::filesystem::path& file = example()) {
    pid_ = ::fork();
    if (pid_ == 0) {
      for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) ::signal(signal, SIG_DFL);
      const std::string program = std::string("exec " H5MOUNT_PROGRAM " ") + options;
      const std::string command = before + "; " + program + " '" + file.string() + "' " + mount.path();
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
    wait_until_serving(mount.path());
  }
  ~Served() { end(SIGKILL); }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  // The exit code, 128 and more for a signal's number; -1 where it does not end within ten seconds.
  int end(int number) {
    if (pid_ <= 0) return -1;
    ::kill(pid_, number);
    int status = 0;
    for (int i = 0; i < 1000; ++i) {
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
      ::usleep(10'000);
    }
    return -1;
  }

 private:
  pid_t pid_;
};

struct Threads {
  std::map<std::string, unsigned> names;  // how many have each name
  unsigned count = 0;
  std::uint64_t wakes = 0;  // of all of them since the process began
};

Threads threads_of(pid_t process) {
  Threads out;
  std::error_code gone;
  const std::string all = "/proc/" + std::to_string(process) + "/task";
  for (const auto& thread : std::filesystem::directory_iterator(all, gone)) {
    std::string name = slurp(thread.path() / "comm");
    if (name.empty()) continue;  // it has ended meanwhile
    name.pop_back();
    ++out.names[name];
    ++out.count;
    std::istringstream status(slurp(thread.path() / "status"));
    for (std::string word; status >> word;)
      if (std::uint64_t switches = 0; word == "voluntary_ctxt_switches:" && status >> switches)
        out.wakes += switches;
  }
  return out;
}

std::string text_of(const Threads& threads) {
  std::string out;
  for (const auto& [name, count] : threads.names) out += name + " " + std::to_string(count) + "; ";
  return out;
}

// Of a mount that has listed a directory, once what begins it has ended and nothing wakes it any more.
Threads threads_at_rest(const Served& program, const MountPoint& mount) {
  EXPECT_EQ(run("ls -l " + mount.path()).code, 0);
  Threads before = threads_of(program.pid());
  for (int i = 0; i < 100; ++i) {
    ::usleep(500'000);
    Threads now = threads_of(program.pid());
    if (now.wakes == before.wakes && now.count == before.count) return now;
    before = std::move(now);
  }
  ADD_FAILURE() << "it does not come to rest: " << text_of(before);
  return before;
}

// Where the machine does not run the thread that answers, another one takes its place: so one of some mounts.
TEST_F(EndingsTest, AMountAtRestHasFewThreadsEachWithItsName) {
  const unsigned decoders = std::max(1U, std::thread::hardware_concurrency());
  Threads fewest;
  for (int i = 0; i < 5 && (fewest.count == 0 || fewest.count > decoders + 5); ++i) {
    Served program(mount, "true");
    Threads found = threads_at_rest(program, mount);
    if (fewest.count == 0 || found.count < fewest.count) fewest = std::move(found);
    EXPECT_EQ(program.end(SIGTERM), 0);
  }
  EXPECT_LE(fewest.count, decoders + 5) << text_of(fewest);
  fewest.names.erase("h5-serve");
  EXPECT_EQ(
      fewest.names,
      (std::map<std::string, unsigned>{
          {"h5mount", 1}, {"h5-decode", decoders}, {"h5-watchdog", 1}, {"h5-notify", 1}, {"h5-changes", 1}}));
}

// A shell without job control starts what it has in its background with SIGINT and SIGQUIT ignored.
TEST_F(EndingsTest, InterruptAndQuitEndAMountThatInheritedThemIgnored) {
  for (const int number : {SIGINT, SIGQUIT, SIGTERM}) {
    for (const char* options : {"-f", "-f -s"}) {
      Served program(mount, "trap '' INT QUIT TERM", options);
      EXPECT_TRUE(mount.mounted());
      EXPECT_EQ(program.end(number), 0) << number << " " << options;
      EXPECT_FALSE(mount.mounted());
    }
  }
}

TEST_F(EndingsTest, QuitEndsInOrder) {
  Served program(mount, ":");
  EXPECT_EQ(program.end(SIGQUIT), 0);
  EXPECT_FALSE(mount.mounted());
}

TEST_F(EndingsTest, HangupIsLeftIgnoredAsNohupHasIt) {
  Served program(mount, "trap '' HUP");
  program.signal(SIGHUP);
  ::usleep(100'000);
  EXPECT_EQ(mount.in("cat station/log | wc -c").out, "122\n");
  EXPECT_EQ(program.end(SIGTERM), 0);
  EXPECT_FALSE(mount.mounted());
}

TEST_F(EndingsTest, SignalsInTheMidstOfReads) {
  for (int round = 0; round < 10; ++round) {
    Served program(mount, ":");
    const std::string readers =
        "for i in 1 2 3 4; do (while cat " + mount.path() + "/*/* 2>/dev/null; do :; done) & done";
    std::thread reading([&] { std::ignore = std::system((readers + " >/dev/null; wait").c_str()); });
    ::usleep(50'000);
    EXPECT_EQ(program.end(round % 2 == 0 ? SIGINT : SIGTERM), 0);
    EXPECT_FALSE(mount.mounted());
    reading.join();
  }
}

// Pages are being dropped and sizes told while the session ends: nothing waits for what is not answered any
// more.
TEST_F(EndingsTest, SignalsWhileTheFileGrows) {
  const auto file = scratch() / "growing.h5", stop = scratch() / "stop";
  std::filesystem::remove(file);
  std::filesystem::remove(stop);
  const std::string grow = python() + (source_root() / "tests/mount/fixtures/growing_file.py").string() +
                           " " + file.string() + " " + stop.string();
  std::thread writing([&] { std::ignore = std::system(grow.c_str()); });
  for (int i = 0; i < 1000 && !std::filesystem::exists(file); ++i) ::usleep(10'000);
  for (int round = 0; round < 10; ++round) {
    Served program(mount, ":", round % 3 == 0 ? "-f -s" : "-f", file);
    const std::string readers =
        "for i in 1 2 3; do (while cat " + mount.path("growing") + "; do :; done) & done; wait";
    std::thread reading([&] { std::ignore = std::system(("(" + readers + ") >/dev/null 2>&1").c_str()); });
    ::usleep(200'000);
    EXPECT_EQ(program.end(SIGTERM), 0) << round;
    EXPECT_FALSE(mount.mounted());
    reading.join();
  }
  std::ofstream(stop).close();
  writing.join();
}

// Descriptors that are free when the program starts must not become the source's, and then be replaced.
TEST_F(EndingsTest, ClosedStandardStreamsAreNotTaken) {
  const std::string words = " '" + example().string() + "' " + mount.path();
  for (const char* closed : {"<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"}) {
    EXPECT_EQ(run("$H5MOUNT " + words + " " + closed).code, 0) << closed;
    EXPECT_EQ(mount.in("sha256sum -c " + (source_root() / "tests/data/weather.sha256").string()).code, 0)
        << closed;
    unmount();
  }
}

TEST_F(EndingsTest, ErrorsAreErrorsAlsoWithoutStderr) {
  EXPECT_EQ(run("$H5MOUNT /nowhere.h5 " + mount.path() + " <&- >&- 2>&-").code, 1);
  EXPECT_EQ(run("$H5MOUNT /etc/passwd " + mount.path() + " <&- >&- 2>&-").code, 2);
  EXPECT_FALSE(mount.mounted());
}

TEST_F(EndingsTest, ADeadMountIsToldAsDead) {
  {
    Served program(mount, ":");
    ASSERT_EQ(program.end(SIGKILL), 128 + SIGKILL);
  }
  ASSERT_TRUE(mount.mounted());
  const Outcome outcome = mount.mount(example());
  EXPECT_EQ(outcome.code, 32);
  EXPECT_EQ(lines_in(outcome.err), 1) << outcome.err;
  EXPECT_NE(outcome.err.find("dead"), std::string::npos) << outcome.err;
  const std::string cure = (::geteuid() == 0 ? "umount " : "fusermount3 -u ") + mount.path();
  ASSERT_NE(outcome.err.find(cure), std::string::npos) << outcome.err;
  EXPECT_EQ(run(cure).code, 0);
  EXPECT_FALSE(mount.mounted());
}

TEST_F(EndingsTest, ASourceOnADeadMount) {
  MountPoint second;
  {
    Served program(mount, ":");
    ASSERT_EQ(program.end(SIGKILL), 128 + SIGKILL);
  }
  const Outcome outcome = second.mount(mount.path("x.h5"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("fusermount3 -uz"), std::string::npos) << outcome.err;
  run("umount " + mount.path() + " || fusermount3 -uz " + mount.path());
}

// The reasons for which a mount is not permitted, in a mount namespace where they hold.
class NotPermittedTest : public EndingsTest {
 protected:
  void SetUp() override {
    H5MOUNT_NEEDS_FUSE();
    H5MOUNT_NEEDS_ROOT();
    std::filesystem::permissions(scratch(), std::filesystem::perms(0755));
    std::filesystem::remove(program);  // not overwritten: the one of the test before may still be running
    std::filesystem::copy_file(H5MOUNT_PROGRAM, program);
    std::filesystem::copy_file(example(), file, std::filesystem::copy_options::overwrite_existing);
    ASSERT_EQ(run("chown nobody " + mount.path() + "; mkdir -p " + place).code, 0);
    if (run("unshare -m sh -c '" + device("666") + "'").code != 0) GTEST_SKIP() << "no mount namespaces here";
  }
  // A /dev/fuse of our own.
  std::string device(const std::string& mode) const {
    return "mount -t tmpfs none " + place + " && mknod " + place + "/fuse c 10 229 && chmod " + mode + " " +
           place + "/fuse && chgrp daemon " + place + "/fuse && mount --bind " + place + "/fuse /dev/fuse";
  }
  void expect_told(const std::string& setting, const std::string& command, const std::string& cure) const {
    const Outcome outcome = run("unshare -m sh -c '" + setting + " && " + command + "'");
    EXPECT_EQ(outcome.code, 32) << outcome.err;
    EXPECT_EQ(lines_in(outcome.err), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(cure), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(file), std::string::npos) << outcome.err;
  }
  const std::string program = scratch() / "program";
  const std::string file = scratch() / "weather.h5";
  const std::string place = scratch() / "dev";
  const std::string as_nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups " + program + " ";
  const std::string words = file + " " + mount.path();
};

TEST_F(NotPermittedTest, TheDevicesMode) {
  expect_told(device("600"), as_nobody + words, "chmod 666 /dev/fuse");
  expect_told(device("660"), as_nobody + words, "be in its group daemon");
}

TEST_F(NotPermittedTest, AllowOtherIsNotForEveryone) {
  expect_told(device("666"), as_nobody + "-o allow_other " + words, "add the line user_allow_other");
}

TEST_F(NotPermittedTest, AnothersDirectory) {
  const std::string others = scratch() / "others";
  std::filesystem::create_directories(others);
  expect_told(device("666"), as_nobody + file + " " + others, "a directory of your own");
}

TEST_F(NotPermittedTest, NoFusermount) {
  const std::string without =
      "touch " + place + "/none && mount --bind " + place + "/none $(command -v fusermount3)";
  expect_told(device("666") + " && " + without, as_nobody + words, "install fusermount3");
}

TEST_F(NotPermittedTest, AContainerWithoutTheRight) {
  expect_told("true", "setpriv --bounding-set -sys_admin --inh-caps -sys_admin " + program + " " + words,
              "--cap-add SYS_ADMIN");
}

TEST_F(NotPermittedTest, AMountOfAnotherUser) {
  const std::string again = program + " " + words + "; code=$?; umount " + mount.path() + "; exit $code";
  expect_told(device("666") + " && " + as_nobody + words, again, "of another user");
}

TEST_F(NotPermittedTest, NoMountPoint) {
  const Outcome outcome = run(program + " " + file + " " + mount.path("new"));
  EXPECT_EQ(outcome.code, 32);
  EXPECT_NE(outcome.err.find("mkdir -p " + mount.path("new")), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace h5mount::test

// HelperProcess, with shells as helpers: what is exchanged, what they are given, and how they end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "h5mount/base/helper_process.h"

namespace h5mount {
namespace {

using Clock = std::chrono::steady_clock;
using HelperPtr = std::unique_ptr<HelperProcess>;

// Long after everything that these helpers do.
HelperProcess::Deadline later() {
  return Clock::now() + std::chrono::seconds(60);
}

HelperPtr start(const std::string& script, std::vector<int> descriptors = {}) {
  auto helper = HelperProcess::start(
      {.path = "/bin/sh", .words = {"sh", "-c", script}, .descriptors = std::move(descriptors)});
  EXPECT_TRUE(helper) << helper.error().text();
  return *std::move(helper);
}

Status send(HelperProcess& helper, const std::string& text) {
  return helper.send(std::as_bytes(std::span(text)), later());
}

std::string receive(HelperProcess& helper, std::size_t length) {
  std::string out(length, '?');
  const Status received = helper.receive(std::as_writable_bytes(std::span(out)), later());
  return received ? out : received.error().text();
}

// How the helper of a script ends, by itself.
Error end_of(const std::string& script) {
  const HelperPtr helper = start(script);
  std::byte answer{};
  const Status received = helper->receive({&answer, 1}, later());
  EXPECT_FALSE(received);
  EXPECT_FALSE(helper->running());
  return received.error();
}

bool no_process_is_left() {
  return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
}

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reading = UniqueFd(ends[0]);
    writing = UniqueFd(ends[1]);
  }
  UniqueFd reading, writing;
};

TEST(HelperProcess, AnswersThroughItsSocket) {
  {
    const HelperPtr helper = start("exec cat >&0");
    EXPECT_TRUE(helper->running());
    for (const std::string text : {"hello", "and once more"}) {
      ASSERT_TRUE(send(*helper, text));
      EXPECT_EQ(receive(*helper, text.size()), text);
    }
  }
  EXPECT_TRUE(no_process_is_left());
}

TEST(HelperProcess, MoreThanTheSocketHoldsIsSent) {
  const HelperPtr helper = start("count=$(head -c 3000000 | wc -c); printf %s $count >&0");
  ASSERT_TRUE(send(*helper, std::string(3'000'000, 'x')));
  EXPECT_EQ(receive(*helper, 7), "3000000");
}

TEST(HelperProcess, OneThatLetsADeadlinePassIsKilled) {
  const HelperPtr helper = start("exec sleep 1000");
  std::byte answer{};
  const Status late = helper->receive({&answer, 1}, Clock::now() + std::chrono::milliseconds(30));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), ErrorCode::TimedOut);
  EXPECT_FALSE(helper->running());
  EXPECT_TRUE(no_process_is_left());
  EXPECT_FALSE(send(*helper, "more"));
}

TEST(HelperProcess, OneThatReadsNothingLetsADeadlinePassToo) {
  const HelperPtr helper = start("exec sleep 1000");
  const std::vector<std::byte> much(8 << 20);
  const Status late = helper->send(much, Clock::now() + std::chrono::milliseconds(30));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), ErrorCode::TimedOut);
  EXPECT_TRUE(no_process_is_left());
}

TEST(HelperProcess, ItsEndIsSaid) {
  EXPECT_NE(end_of("kill -SEGV $$").text().find("it crashed (signal 11)"), std::string::npos);
  EXPECT_NE(end_of("exit 3").text().find("it ended itself (exit code 3)"), std::string::npos);
  EXPECT_EQ(end_of("kill -ALRM $$").code(), ErrorCode::TimedOut);
  EXPECT_TRUE(no_process_is_left());
}

TEST(HelperProcess, OneThatOnlyClosesItsSocketIsEnded) {
  EXPECT_NE(end_of("exec 0<&-; exec sleep 1000").text().find("(signal 9)"), std::string::npos);
  EXPECT_TRUE(no_process_is_left());
}

TEST(HelperProcess, IsEndedWithItsOwner) {
  {
    const HelperPtr helper = start("exec sleep 1000");
  }
  EXPECT_TRUE(no_process_is_left());
}

TEST(HelperProcess, AProgramWithoutAFileIsAnError) {
  const auto none = HelperProcess::start({.path = "/nonexistent/helper", .words = {"helper"}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().errno_value(), ENOENT);
  EXPECT_NE(none.error().text().find("/nonexistent/helper"), std::string::npos);
}

TEST(HelperProcess, HasTheDescriptorsThatItIsGivenAndNoOther) {
  Pipe first, second, other;
  ASSERT_EQ(::write(first.writing.get(), "1st", 3), 3);
  ASSERT_EQ(::write(second.writing.get(), "2nd", 3), 3);
  first.writing.reset();
  second.writing.reset();
  struct stat kept = {};
  ASSERT_EQ(::fstat(other.writing.get(), &kept), 0);
  const std::string count = "$(ls -l /proc/self/fd | grep -cF 'pipe:[" + std::to_string(kept.st_ino) + "]')";
  // Given in the reverse of their numbers.
  const HelperPtr helper = start("cat >&0 <&3; cat >&0 <&4; count=" + count + "; printf %s $count >&0",
                                 {second.reading.get(), first.reading.get()});
  EXPECT_EQ(receive(*helper, 6), "2nd1st");
  EXPECT_EQ(receive(*helper, 1), "0");
}

TEST(HelperProcess, HasNoneOfTheEnvironmentNorOfTheBlockedSignals) {
  ::setenv("H5MOUNT_TEST_SECRET", "secret", 1);
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  EXPECT_NE(end_of("exit ${#H5MOUNT_TEST_SECRET}").text().find("(exit code 0)"), std::string::npos);
  EXPECT_NE(end_of("kill -TERM $$; exit 5").text().find("(signal 15)"), std::string::npos);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::unsetenv("H5MOUNT_TEST_SECRET");
}

// A process of its own starts a helper and dies; the helper keeps the pipe open as long as it lives.
TEST(HelperProcess, EndsWhenThisProcessDies) {
  Pipe alive;
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    const HelperPtr helper = start("cat >/dev/null", {alive.writing.get()});
    ::kill(::getpid(), SIGKILL);
  }
  alive.writing.reset();
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  EXPECT_TRUE(WIFSIGNALED(status));
  char nothing = 0;
  EXPECT_EQ(::read(alive.reading.get(), &nothing, 1), 0);
}

}  // namespace
}  // namespace h5mount

// What /proc says of a thread that made a request.
#include "../../src/fuse/loop/client_state.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace h5mount::fuse {
namespace {

// From a line of /proc/PID/stat, of a program whose name is a trap.
std::optional<ThreadStat> stat_of(const std::string& state, const std::string& flags,
                                  const std::string& pending) {
  std::string out = "77 (a) Z ( b) " + state + " 1 77 77 0 -1 " + flags;
  for (int field = 10; field < 31; ++field) out += " 9";
  return parse_thread_stat(out + " " + pending + " 0 0 0 0 0 0 17 5 0");
}

TEST(ClientState, IsGoneWhenItHasEndedOrIsKilled) {
  for (const ClientKind kind : {ClientKind::Waiting, ClientKind::Direct}) {
    EXPECT_FALSE(is_gone(*stat_of("S", "4194304", "0"), kind));
    EXPECT_FALSE(is_gone(*stat_of("D", "4194304", "2"), kind));   // SIGINT, with a handler
    EXPECT_TRUE(is_gone(*stat_of("D", "4194304", "256"), kind));  // SIGKILL
    EXPECT_TRUE(is_gone(*stat_of("D", "4195332", "0"), kind));    // ended by a signal
    EXPECT_EQ(is_gone(*stat_of("Z", "4194304", "0"), kind), kind == ClientKind::Waiting);
    EXPECT_EQ(is_gone(*stat_of("S", "4194308", "0"), kind), kind == ClientKind::Waiting);
    for (const char* nonsense : {"", "77", "77 (x)", "77 (x) ", ")"})
      EXPECT_FALSE(parse_thread_stat(nonsense)) << nonsense;
    EXPECT_FALSE(is_gone(*parse_thread_stat(") S"), kind));  // cut short
  }
}

TEST(ThreadStat, HasTheProcessor) {
  EXPECT_EQ(stat_of("S", "0", "0")->processor, 5);
  EXPECT_EQ(parse_thread_stat(") S")->processor, -1);
  EXPECT_EQ(thread_stat(::getpid())->state, 'R');
  EXPECT_FALSE(thread_stat(-1));
}

TEST(ClientState, IsInterruptedByASignalThatItTakes) {
  const auto text = [](const std::string& own, const std::string& shared) {
    return "Name:\tx\nSigQ:\t0/1\nSigPnd:\t" + own + "\nShdPnd:\t" + shared +
           "\nSigBlk:\t0000000000000004\nSigIgn:\t0000000000000008\nSigCgt:\t0\n";
  };
  EXPECT_FALSE(status_text_is_interrupted(text("0000000000000000", "0000000000000000")));
  EXPECT_TRUE(status_text_is_interrupted(text("0000000000000002", "0000000000000000")));
  EXPECT_TRUE(status_text_is_interrupted(text("0000000000000000", "0000000000000002")));
  EXPECT_FALSE(status_text_is_interrupted(text("0000000000000004", "000000000000000c")));
  EXPECT_FALSE(status_text_is_interrupted(""));
}

TEST(ClientState, OfAProcess) {
  EXPECT_FALSE(client_is_gone(::getpid(), ClientKind::Waiting));
  EXPECT_FALSE(client_is_gone(0, ClientKind::Waiting));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(0);
  siginfo_t ended = {};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(client_is_gone(child, ClientKind::Waiting));  // a zombie
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(client_is_gone(child, ClientKind::Waiting));
  EXPECT_FALSE(client_is_gone(child, ClientKind::Direct));
}

}  // namespace
}  // namespace h5mount::fuse

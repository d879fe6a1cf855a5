// ServingLoop: where its leader runs and how it waits, and which clients it makes wait.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "../../src/fuse/loop/wait_choice.h"
#include "serving_fixture.h"

namespace h5mount::fuse {
namespace {

int processors_allowed() {
  cpu_set_t all;
  CPU_ZERO(&all);
  EXPECT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  return CPU_COUNT(&all);
}

// What is started there must not inherit the one processor: with one thread as with many.
TEST(ServingLoop, AThreadThatFollowsItsClientDoesNotBeforeLongWork) {
  const int all = processors_allowed();
  for (const unsigned threads : {1U, 4U}) {
    Running running(threads);
    running.channel.client = ::gettid();
    for (std::uint32_t i = 0; i <= WaitChoice::kWindow; ++i) running.channel.ask_who().get();
    std::promise<int> bound, released;
    running.channel.ask([&] {
      bound.set_value(processors_allowed());
      note_long_work();
      released.set_value(processors_allowed());
    });
    EXPECT_EQ(bound.get_future().get(), 1);
    EXPECT_EQ(released.get_future().get(), all);
  }
}

TEST(ServingLoop, NoThreadPollsWhileAnotherIsAtWork) {
  if (processors_allowed() < 2) GTEST_SKIP() << "one processor only: nothing polls";
  Gate gate;
  Running running(4);
  running.channel.client = ::gettid();
  const auto will_poll = [&] {
    std::promise<bool> answer;
    running.channel.ask([&] { answer.set_value(ServingLoop::will_poll()); });
    return answer.get_future().get();
  };
  const auto polled = [&] {  // by a thread that has just begun to try this way
    const std::uint64_t before = running.channel.asked_whether_ready;
    for (std::uint32_t i = 0; i < 2 * WaitChoice::kWindow + 2; ++i) running.channel.ask_who().get();
    const bool announced = will_poll();
    EXPECT_EQ(running.channel.asked_whether_ready != before, announced);
    return announced;
  };
  EXPECT_FALSE(ServingLoop::will_poll()) << "this thread leads no loop";
  EXPECT_TRUE(polled());
  running.channel.ask([&] {
    note_long_work();
    gate.wait();
  });
  gate.wait_for(1);
  EXPECT_FALSE(polled());
  gate.open();
}

}  // namespace
}  // namespace h5mount::fuse

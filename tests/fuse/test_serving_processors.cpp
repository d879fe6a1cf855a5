// ServingLoop: where its leader runs and how it waits, and which clients it makes wait.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "serving_fixture.h"
#include "wait_choice.h"

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

// With a processor of its own the leader makes large replies itself, unless another client makes small
// requests.
TEST(ServingLoop, LargeRepliesAreLeftToOthersWhileAClientMakesSmallRequests) {
  constexpr std::size_t kLarge = 256U << 10;
  FakeChannel channel;
  ServingLoop loop(channel, {.max_threads = 4,
                             .tick = kNever,
                             .processor = ::sched_getcpu(),
                             .between_small = std::chrono::hours(1)});
  std::thread thread([&] { (void)loop.run(); });
  const auto better_beside = [&](pid_t client, std::size_t bytes) {
    channel.client = client;
    std::promise<bool> answer;
    channel.ask([&] { answer.set_value(ServingLoop::current()->better_beside(bytes)); });
    return answer.get_future().get();
  };
  EXPECT_FALSE(better_beside(1, kLarge));
  EXPECT_FALSE(better_beside(1, 4096));
  EXPECT_FALSE(better_beside(1, kLarge)) << "the same client";
  EXPECT_FALSE(better_beside(2, kLarge));
  for (unsigned i = 0; i < ServingLoop::kManySmall; ++i) {
    EXPECT_FALSE(better_beside(1, kLarge)) << i;
    EXPECT_FALSE(better_beside(3, 4096));
  }
  EXPECT_TRUE(better_beside(1, kLarge));
  EXPECT_FALSE(better_beside(3, kLarge)) << "who opened several files reads one";
  EXPECT_TRUE(better_beside(1, kLarge));
  EXPECT_FALSE(better_beside(1, 4096));
  channel.end();
  thread.join();

  Running shared(4);  // passes the lead for large replies
  shared.channel.client = 1;
  for (const std::size_t bytes : {std::size_t{4096}, kLarge}) {
    shared.channel.client = shared.channel.client + 1;
    std::promise<bool> answer;
    shared.channel.ask([&] { answer.set_value(ServingLoop::current()->better_beside(bytes)); });
    EXPECT_FALSE(answer.get_future().get());
  }
}

// With a processor of its own the leader keeps the lead, but leaves that processor to the client for a while.
TEST(ServingLoop, AfterALongReplyTheLeaderLeavesItsOwnProcessor) {
  const int all = processors_allowed();
  FakeChannel channel;
  ServingLoop loop(channel, {.max_threads = 4, .tick = kNever, .processor = ::sched_getcpu()});
  std::thread serving([&] { loop.run(); });
  const auto processors_of_next = [&](std::size_t replied) {
    std::promise<int> allowed;
    channel.ask([&] {
      ServingLoop::reply_ahead(replied);  // counts from the next request on
      allowed.set_value(processors_allowed());
    });
    return allowed.get_future().get();
  };
  EXPECT_EQ(processors_of_next(4096), 1);
  EXPECT_EQ(processors_of_next(256U << 10), 1);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(processors_of_next(4096), all);
  EXPECT_EQ(processors_of_next(4096), 1);
  EXPECT_EQ(loop.counters().passed, 0U);
  channel.end();
  serving.join();
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

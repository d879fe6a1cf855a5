#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <set>

#include "serving_fixture.h"

namespace h5mount::fuse {
namespace {

TEST(ServingLoop, OneThreadServesRequestsThatAreQuick) {
  Running running(8);
  std::set<std::thread::id> threads;
  for (int i = 0; i < 1000; ++i) threads.insert(running.channel.ask_who().get());
  EXPECT_EQ(threads.size(), 1U);
  EXPECT_EQ(running.loop.counters().passed, 0U);
  EXPECT_EQ(running.finish(), 0);
}

TEST(ServingLoop, TheLeadIsPassedBeforeLongWork) {
  Gate gate;
  Running running(8);
  std::promise<std::thread::id> slow;
  running.channel.ask([&] {
    note_long_work();
    slow.set_value(std::this_thread::get_id());
    note_long_work();  // has no further effect
    gate.wait();
  });
  const auto id = slow.get_future().get();
  EXPECT_NE(running.channel.ask_who().get(), id);
  EXPECT_EQ(running.loop.counters().passed, 1U);
  gate.open();
}

TEST(ServingLoop, ALargeReplyPassesTheLead) {
  Running running(8);
  const auto passed_by = [&](std::size_t bytes) {
    const std::uint64_t before = running.loop.counters().passed;
    std::promise<std::uint64_t> after;
    running.channel.ask([&, bytes] {
      ServingLoop::reply_ahead(bytes);
      after.set_value(running.loop.counters().passed);
    });
    return after.get_future().get() - before;
  };
  EXPECT_EQ(passed_by(4096), 0U);
  EXPECT_EQ(passed_by(1U << 20), 1U);
  ServingLoop::reply_ahead(1U << 20);  // not a thread of a loop
}

TEST(ServingLoop, WhatTakesLongWithoutNoticeLosesTheLead) {
  Gate gate;
  Running running(8, kTick);
  for (int i = 0; i < 7; ++i) running.channel.ask([&] { gate.wait(); });
  gate.wait_for(7);
  EXPECT_NE(running.channel.ask_who().get(), std::thread::id());
  EXPECT_GE(running.loop.counters().taken, 7U);
  gate.open();
}

TEST(ServingLoop, TheLeadGoesToTheThreadThatWasIdleLast) {
  // Three threads wait in turn; they become idle in the order in which their gates open.
  std::array<Gate, 3> gates;
  Gate gate;
  Running running(8);
  std::array<std::promise<std::thread::id>, 3> ids;
  for (std::size_t i = 0; i < gates.size(); ++i) {
    running.channel.ask([&, i] {
      note_long_work();
      ids[i].set_value(std::this_thread::get_id());
      gates[i].wait();
    });
    gates[i].wait_for(1);
  }
  EXPECT_EQ(running.loop.counters().threads, 4U);
  std::thread::id last;
  for (std::size_t i = 0; i < gates.size(); ++i) {
    last = ids[i].get_future().get();
    gates[i].open();
    while (running.loop.counters().idle <= i) std::this_thread::yield();
  }
  running.channel.ask([&] {
    note_long_work();
    gate.wait();
  });
  gate.wait_for(1);
  EXPECT_EQ(running.channel.ask_who().get(), last);
  gate.open();
}

TEST(ServingLoop, OnlyOneThreadReceives) {
  Running running(8, kTick);
  std::atomic<int> done = 0;
  constexpr int kMany = 20'000;
  for (int i = 0; i < kMany; ++i) {
    running.channel.ask([&done, i] {
      if (i % 3 == 0) note_long_work();
      if (i % 501 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      ++done;
    });
  }
  running.channel.end();
  EXPECT_EQ(running.finish(), 0);
  EXPECT_EQ(done, kMany);
  EXPECT_EQ(running.channel.most_receiving(), 1);
}

TEST(ServingLoop, ReadsAreDeferredWhileAllThreadsAreAtWork) {
  constexpr int kThreads = 4, kReads = 500;
  Gate gate;
  Running running(kThreads);
  std::vector<int> order;
  std::mutex mutex;
  std::atomic<int> left = kReads;
  std::promise<void> all;
  for (int i = 0; i < kReads; ++i) {
    running.channel.ask([&, i] {
      const auto read = [&, i](bool serving) {
        EXPECT_TRUE(serving);
        note_long_work();
        gate.wait();
        {
          const std::lock_guard lock(mutex);
          order.push_back(i);
        }
        if (--left == 0) all.set_value();
      };
      ServingLoop& loop = *ServingLoop::current();
      if (loop.saturated())
        loop.defer(read);
      else
        read(true);
    });
  }
  gate.wait_for(kThreads - 1);
  // Behind them all a quick request is answered, by the one thread that is left.
  EXPECT_NE(running.channel.ask_who().get(), std::thread::id());
  EXPECT_EQ(running.loop.counters().deferred, static_cast<std::uint64_t>(kReads - kThreads + 1));
  gate.open();
  all.get_future().get();
  // They begin in the order in which they came: what is recorded at a place overtook only those that other
  // threads had begun and not recorded yet.
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_LT(order[i] - static_cast<int>(i), kThreads) << i;
}

TEST(ServingLoop, AJobRunsBesideTheLeaderIfAThreadIsThere) {
  Gate gate;
  Running running(2);
  std::promise<std::thread::id> beside;
  std::promise<std::pair<bool, bool>> taken;
  running.channel.ask([&] {
    ServingLoop& loop = *ServingLoop::current();
    const bool first = loop.run_beside([&](bool serving) {
      EXPECT_TRUE(serving);
      beside.set_value(std::this_thread::get_id());
      gate.wait();
    });
    gate.wait_for(1);
    taken.set_value({first, loop.run_beside([](bool) { ADD_FAILURE() << "no thread is free"; })});
  });
  EXPECT_EQ(taken.get_future().get(), (std::pair(true, false)));
  EXPECT_NE(beside.get_future().get(), running.channel.ask_who().get());  // that one still leads
  EXPECT_EQ(running.loop.counters().passed, 0U);
  gate.open();
}

// Threads that hang are replaced, and when they come back, as many end.
TEST(ServingLoop, ThreadsThatAreLongAtWorkAreReplaced) {
  constexpr unsigned kThreads = 2, kHung = 12;
  Gate gate;
  Running running(kThreads, kTick, std::chrono::milliseconds(5));
  for (unsigned i = 0; i < kHung; ++i) {
    running.channel.ask([&] {
      const auto read = [&](bool) {
        note_long_work();
        gate.wait();
      };
      ServingLoop& loop = *ServingLoop::current();
      if (loop.saturated())
        loop.defer(read);
      else
        read(true);
    });
  }
  gate.wait_for(kHung);
  EXPECT_NE(running.channel.ask_who().get(), std::thread::id());
  EXPECT_GE(running.loop.counters().threads, kHung);
  gate.open();
  while (running.loop.counters().threads > kThreads) {
    running.channel.ask_who().get();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(ServingLoop, WhereTheLoopEndsDeferredReadsAreTold) {
  Gate gate;
  Running running(2);
  std::atomic<int> refused = 0, served = 0;
  running.channel.ask([&] {
    note_long_work();
    gate.wait();
  });
  gate.wait_for(1);
  std::promise<void> deferred;
  running.channel.ask([&] {
    for (int i = 0; i < 10; ++i)
      ServingLoop::current()->defer([&](bool serving) { ++(serving ? served : refused); });
    deferred.set_value();
  });
  deferred.get_future().get();
  running.channel.end();
  // The leader has ended the loop once it is no longer there to answer.
  while (!running.loop.stopping()) std::this_thread::yield();
  gate.open();
  EXPECT_EQ(running.finish(), 0);
  EXPECT_EQ(refused, 10);
  EXPECT_EQ(served, 0);
}

TEST(ServingLoop, AloneItNeitherPassesNorDefers) {
  Running running(1);
  std::promise<bool> beside;
  running.channel.ask([&] { beside.set_value(ServingLoop::current()->run_beside([](bool) {})); });
  EXPECT_FALSE(beside.get_future().get());
  std::promise<bool> saturated;
  running.channel.ask([&] {
    note_long_work();
    saturated.set_value(ServingLoop::current()->saturated());
  });
  EXPECT_FALSE(saturated.get_future().get());
  EXPECT_EQ(running.channel.ask_who().get(), running.first);
  EXPECT_EQ(running.loop.counters().threads, 1U);
  EXPECT_EQ(running.loop.counters().passed, 0U);
}

TEST(ServingLoop, AnInterruptedWaitIsRepeatedAndAnErrorEnds) {
  Running running(4);
  running.channel.interrupt_receive();
  EXPECT_EQ(running.channel.ask_who().get(), running.first);
  running.channel.fail(-EIO);
  while (!running.loop.stopping()) std::this_thread::yield();
  EXPECT_EQ(running.finish(), -EIO);
}

// The real thing that `interrupt` must end: a system call of whichever thread leads.
TEST(ServingLoop, InterruptEndsTheLeadersSystemCall) {
  struct PipeChannel final : RequestChannel {
    PipeChannel() { EXPECT_EQ(::pipe(ends), 0); }
    ~PipeChannel() override {
      ::close(ends[0]);
      ::close(ends[1]);
    }
    int receive(fuse_buf& buffer) override {
      if (buffer.mem == nullptr) buffer.mem = std::malloc(1);
      return ::read(ends[0], buffer.mem, 1) < 0 ? -errno : 1;
    }
    void process(const fuse_buf&) noexcept override {
      note_long_work();  // another thread leads from here on
      ++requests;
    }
    bool ready() const override { return false; }
    bool ended() const override { return stop; }
    pid_t client_of(const fuse_buf&) const override { return 0; }
    int ends[2] = {-1, -1};
    std::atomic<bool> stop = false;
    std::atomic<int> requests = 0;
  };
  struct sigaction nothing = {};
  nothing.sa_handler = [](int) {};
  struct sigaction before = {};
  ASSERT_EQ(::sigaction(SIGRTMIN, &nothing, &before), 0);
  PipeChannel channel;
  ServingLoop loop(channel, {.max_threads = 4, .wake_signal = SIGRTMIN});
  auto result = std::async(std::launch::async, [&] { return loop.run(); });
  for (int i = 0; i < 3; ++i) ASSERT_EQ(::write(channel.ends[1], "x", 1), 1);
  while (channel.requests < 3) std::this_thread::yield();
  channel.stop = true;
  while (result.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) loop.interrupt();
  EXPECT_EQ(result.get(), 0);
  ::sigaction(SIGRTMIN, &before, nullptr);
}

TEST(LongWork, IsToldToTheThreadsListenerOnly) {
  struct Counting final : LongWorkListener {
    void long_work_ahead() noexcept override { ++told; }
    int told = 0;
  } counting;
  note_long_work();
  set_long_work_listener(&counting);
  note_long_work();
  std::thread([] { note_long_work(); }).join();
  set_long_work_listener(nullptr);
  note_long_work();
  EXPECT_EQ(counting.told, 1);
}

}  // namespace
}  // namespace h5mount::fuse

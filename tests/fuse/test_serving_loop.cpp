// ServingLoop over a channel of this program: requests are functions.
#include "serving_loop.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <future>
#include <set>

#include "wait_choice.h"

namespace h5mount::fuse {
namespace {

using Request = std::function<void()>;

class FakeChannel final : public RequestChannel {
 public:
  int receive(fuse_buf& buffer) override {
    std::unique_lock lock(mutex_);
    ++receiving_;
    most_receiving_ = std::max(most_receiving_, receiving_);
    changed_.wait(lock, [&] { return !queue_.empty() || ended_ || interrupts_ > 0 || failure_ != 0; });
    --receiving_;
    if (interrupts_ > 0) return --interrupts_, -EINTR;
    if (failure_ != 0) return failure_;
    if (queue_.empty()) return 0;
    if (buffer.mem == nullptr) buffer.mem = std::malloc(sizeof(Request*));
    *static_cast<Request**>(buffer.mem) = new Request(std::move(queue_.front()));
    queue_.pop_front();
    return sizeof(Request*);
  }
  bool ready() const override {
    const std::lock_guard lock(mutex_);
    ++asked_whether_ready;
    return !queue_.empty() || ended_ || interrupts_ > 0 || failure_ != 0;
  }
  void process(const fuse_buf& buffer) noexcept override {
    const std::unique_ptr<Request> request(*static_cast<Request**>(buffer.mem));
    (*request)();
  }
  bool ended() const override {
    const std::lock_guard lock(mutex_);
    return ended_ && queue_.empty();
  }

  void ask(Request request) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(request));
    }
    changed_.notify_one();
  }
  pid_t client_of(const fuse_buf&) const override { return client; }

  std::atomic<pid_t> client = 0;
  mutable std::atomic<std::uint64_t> asked_whether_ready = 0;

  // Asks and returns what the request's thread was.
  std::future<std::thread::id> ask_who() {
    auto who = std::make_shared<std::promise<std::thread::id>>();
    std::future<std::thread::id> answer = who->get_future();
    ask([who] { who->set_value(std::this_thread::get_id()); });
    return answer;
  }
  void interrupt_receive() {
    {
      const std::lock_guard lock(mutex_);
      ++interrupts_;
    }
    changed_.notify_one();
  }
  void fail(int error) {
    {
      const std::lock_guard lock(mutex_);
      failure_ = error;
    }
    changed_.notify_all();
  }
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }
  int most_receiving() const {
    const std::lock_guard lock(mutex_);
    return most_receiving_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> queue_;
  bool ended_ = false;
  int interrupts_ = 0, failure_ = 0;
  int receiving_ = 0, most_receiving_ = 0;
};

// The watch then takes no lead, however long the machine does not run a thread.
constexpr std::chrono::hours kNever{1};
constexpr std::chrono::milliseconds kTick{1};

// A loop in a thread of its own.
class Running {
 public:
  explicit Running(unsigned threads, std::chrono::milliseconds tick = kNever,
                   std::chrono::milliseconds long_at_work = kNever)
      : loop(channel, {.max_threads = threads, .tick = tick, .long_at_work = long_at_work}) {
    thread_ = std::thread([this] { result_ = loop.run(); });
    first = thread_.get_id();
  }
  ~Running() { finish(); }
  int finish() {
    channel.end();
    if (thread_.joinable()) thread_.join();
    return result_;
  }
  FakeChannel channel;
  ServingLoop loop;
  std::thread::id first;

 private:
  std::thread thread_;
  int result_ = 1;
};

// Holds the requests that wait at it until it is opened. To be declared before the loop whose threads use it.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void wait_for(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= count; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

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

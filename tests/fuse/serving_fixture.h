// A ServingLoop over a channel of this program: requests are functions.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "../../src/fuse/loop/serving_loop.h"

namespace h5mount::fuse {

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
inline constexpr std::chrono::hours kNever{1};
inline constexpr std::chrono::milliseconds kTick{1};

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

}  // namespace h5mount::fuse

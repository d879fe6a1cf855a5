// ServingLoop: receives a mount's requests and answers them with a few threads, one of which leads.
//
// The leader waits for a request, answers it and waits for the next: a client's requests are served by one
// thread, whose caches stay warm and which learns how best to wait for them (wait_choice.h). (libfuse's loop
// has every idle thread wait for requests in turn, which costs a wake of another thread each.) Before work
// that takes long (base/long_work.h) the leader passes the lead to an idle thread, the one that was idle
// last, or to a new one. A leader that takes long without notice, as for a page fault on a slow disk, loses
// the lead to another thread within two ticks of the watchdog. So no request waits for another's decoding.
//
// While all threads are at work, reads are deferred (`defer`) in the order of their arrival, and the leader
// goes on to answer what is quick. A thread that has worked for one request for more than a second may wait
// for a source that hangs: another is started in its place, up to kMaxReplaced, and as many end when it is
// done. Deferred reads do not go to a JobQueue: a free thread takes the lead, or else a read, and that is
// decided under one lock. Threads: `run` once; all else from any thread while it runs.
#pragma once

#include <fuse_lowlevel.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "h5mount/base/long_work.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/base/watchdog.h"

namespace h5mount::fuse {

// The origin of requests: the kernel, or a test.
class RequestChannel {
 public:
  virtual ~RequestChannel() = default;
  // Waits for a request and returns its length; 0 at the end; -EINTR after a signal; else -errno. Allocates
  // `buffer.mem` (malloc) if it is null.
  virtual int receive(fuse_buf& buffer) = 0;
  // Whether `receive` would not wait.
  virtual bool ready() const = 0;
  virtual void process(const fuse_buf& buffer) noexcept = 0;
  // Whether the loop is to end. It is asked before each `receive`, and after one that failed.
  virtual bool ended() const = 0;
  // The thread that made the request, in the terms of WaitChoice::received.
  virtual pid_t client_of(const fuse_buf& buffer) const = 0;
};

class ServingLoop {
 public:
  struct Options {
    unsigned max_threads = 64;          // that serve; 1: the calling one only, which is not watched
    int wake_signal = 0;                // its handler does nothing; `interrupt` sends it
    std::chrono::milliseconds tick{1};  // a request that outlasts two ticks loses the lead
    std::chrono::milliseconds long_at_work{1000};  // after which a thread is replaced
    std::function<void()> on_end{};  // called once when the channel has ended; requests may still be answered
  };
  static constexpr unsigned kMaxReplaced = 448;

  ServingLoop(RequestChannel& channel, const Options& options);
  ~ServingLoop();

  // Serves until the channel ends, and returns when no request is being answered any more: 0, or the
  // channel's error.
  int run();

  // Ends the leader's wait in `receive` with -EINTR. The signal may be lost if the leader is just about to
  // wait, so it is repeated until `run` returns.
  void interrupt();

  // The loop that the calling thread serves; null for other threads.
  static ServingLoop* current();

  // To be called before a reply of so many bytes is written. Copying a large one takes as long as a hundred
  // small requests, and longer if the machine has other work for the processor, so the lead is passed.
  static void reply_ahead(std::size_t bytes);

  // Whether the calling thread leads a loop and will poll for the next request: its client runs on another
  // processor at the same time, so what the client wants next and is quickly made costs nobody any time.
  static bool will_poll();

  // True if no thread could take the lead, so that a read had better be deferred.
  bool saturated() const { return !spare_.load(std::memory_order_relaxed); }

  // `job(true)` runs on a thread of the loop as soon as one is free; `job(false)` runs if the loop ends
  // before. Must not throw.
  using Deferred = std::function<void(bool serving)>;
  void defer(Deferred job);
  // The same for a job that is worth doing only at once: it is given to an idle thread, or to a new one.
  // Returns false, without the job, if there is neither.
  bool run_beside(Deferred job);

  struct Counters {
    std::uint64_t passed = 0;    // the lead, by its holder before long work
    std::uint64_t taken = 0;     // the lead, by the watchdog
    std::uint64_t deferred = 0;  // reads
    unsigned threads = 0, idle = 0, replaced = 0;
  };
  Counters counters() const;
  bool stopping() const;  // the channel has ended; running requests may not have

 private:
  enum class Phase : std::uint8_t { Receiving, Processing, Lost };
  struct Worker;

  void serve(Worker& me);
  void lead(Worker& me);
  bool polls(const Worker& worker) const;
  int receive(Worker& me);
  bool wait_for_work(Worker& me, MutexLock& lock) H5_REQUIRES(mutex_);
  void pass_lead(Worker& from, std::atomic<std::uint64_t>& counter);
  void appoint_leader() H5_REQUIRES(mutex_);  // if there is none
  void add_leader() H5_REQUIRES(mutex_);
  void wake(Worker& worker) H5_REQUIRES(mutex_);
  bool wake_idle() H5_REQUIRES(mutex_);  // the one that was idle last; false: there is none
  void note_spare() H5_REQUIRES(mutex_);
  void end(int result);
  bool look_at_leader();
  bool look_at_threads();
  void replace_long_at_work() H5_REQUIRES(mutex_);
  // Whether there are more threads than needed, as one that was replaced has finished its request; the first
  // thread is never superfluous.
  bool superfluous(const Worker& me) const H5_REQUIRES(mutex_);
  std::vector<std::unique_ptr<Worker>> take_ended() H5_REQUIRES(mutex_);  // to be joined
  Worker* start_worker() H5_REQUIRES(mutex_);                             // null if no thread can be started
  bool may_start() const H5_REQUIRES(mutex_);
  std::size_t most_threads() const H5_REQUIRES(mutex_);
  void join_all();

  RequestChannel& channel_;
  const Options options_;
  std::atomic<bool> spare_ = true;          // a thread is idle or may be started, or there is but one
  std::atomic<unsigned> at_long_work_ = 0;  // threads that answer a request without the lead
  std::atomic<std::uint64_t> passed_ = 0, taken_ = 0, deferred_count_ = 0;

  mutable Mutex mutex_;
  // The first one is the thread that called `run`.
  std::vector<std::unique_ptr<Worker>> workers_ H5_GUARDED_BY(mutex_);
  unsigned replaced_ H5_GUARDED_BY(mutex_) = 0;  // threads that work for one request for long
  unsigned ended_ H5_GUARDED_BY(mutex_) = 0;     // threads among workers_ that have ended, or are about to
  std::vector<Worker*> idle_ H5_GUARDED_BY(mutex_);      // the last one is woken first
  Worker* leader_ H5_GUARDED_BY(mutex_) = nullptr;       // null: none of the threads is free
  std::deque<Deferred> deferred_ H5_GUARDED_BY(mutex_);  // also the jobs of run_beside
  bool refused_ H5_GUARDED_BY(mutex_) = false;           // it was logged that no thread could be started
  bool stop_ H5_GUARDED_BY(mutex_) = false;
  int result_ H5_GUARDED_BY(mutex_) = 0;

  // The leader, and its number of requests, at the last look.
  const Worker* seen_leader_ = nullptr;
  std::uint64_t seen_requests_ = 0;
  // Set while the loop runs, if there may be more than one thread.
  std::optional<Watchdog::Check> leader_check_, threads_check_;
};

}  // namespace h5mount::fuse

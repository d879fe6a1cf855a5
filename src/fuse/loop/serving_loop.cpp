#include "serving_loop.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <limits>
#include <utility>

#include "client_affinity.h"
#include "h5mount/base/log.h"
#include "h5mount/base/thread.h"
#include "wait_choice.h"

namespace h5mount::fuse {
namespace {

constexpr std::size_t kLongReply = 128U << 10;

// Between two looks for threads that have worked long.
constexpr std::chrono::milliseconds kBetweenLooks{100};

// How long a thread polls for a request: about what it takes a client to wake on a processor that slept, and
// to make its next request.
constexpr std::chrono::microseconds kPoll{100};

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kIdle = std::numeric_limits<std::int64_t>::max();

std::int64_t milliseconds(Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

thread_local ServingLoop* t_loop = nullptr;
thread_local void* t_worker = nullptr;  // the ServingLoop::Worker that the thread is

// Asked once: the C library opens a file of /sys for each answer.
bool has_second_processor() {
  static const bool has = std::thread::hardware_concurrency() != 1;
  return has;
}

}  // namespace

struct ServingLoop::Worker final : LongWorkListener {
  explicit Worker(ServingLoop& owner) : loop(owner) {}
  ~Worker() override { std::free(buffer.mem); }

  // The thread is unbound first: a new thread inherits the processors of the one that starts it.
  void long_work_ahead() noexcept override {
    affinity.release();
    loop.pass_lead(*this, loop.passed_);
  }

  ServingLoop& loop;
  fuse_buf buffer = {};
  // Used by the worker's own thread only.
  WaitChoice wait{has_second_processor()};
  ClientAffinity affinity;
  // The thread that changes `phase` from Processing to Lost appoints the next leader; the leader changes it
  // back to Receiving, unless it was Lost.
  std::atomic<Phase> phase = Phase::Lost;
  // Received as leader: shows the watchdog whether it is still the same one.
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::int64_t> at_work_since = kIdle;  // milliseconds of Clock
  Condition wake;
  bool woken = false;  // guarded by the loop's mutex
  bool ended = false;  // guarded by the loop's mutex: nothing of the loop is used any more
  pthread_t thread{};
  std::thread own;  // not of the first worker, which is the thread that called `run`
};

ServingLoop::ServingLoop(RequestChannel& channel, const Options& options)
    : channel_(channel), options_(options) {}

ServingLoop::~ServingLoop() = default;

ServingLoop* ServingLoop::current() {
  return t_loop;
}

bool ServingLoop::will_poll() {
  const auto* const me = static_cast<const Worker*>(t_worker);
  return me != nullptr && me->phase.load() == Phase::Processing && me->loop.polls(*me);
}

void ServingLoop::reply_ahead(std::size_t bytes) {
  if (bytes > kLongReply) note_long_work();
}

int ServingLoop::run() {
  Worker* first = nullptr;
  if (options_.max_threads > 1) {
    leader_check_.emplace(options_.tick, [this](Watchdog::Clock::time_point) { return look_at_leader(); });
    threads_check_.emplace(kBetweenLooks, [this](Watchdog::Clock::time_point) { return look_at_threads(); });
  }
  {
    const MutexLock lock(mutex_);
    idle_.reserve(options_.max_threads + kMaxReplaced);  // so that a thread that becomes idle needs no memory
    workers_.push_back(std::make_unique<Worker>(*this));
    first = leader_ = workers_.front().get();
    first->thread = ::pthread_self();
    note_spare();
  }
  serve(*first);
  join_all();
  leader_check_.reset();
  threads_check_.reset();
  std::deque<Deferred> left;
  MutexLock lock(mutex_);
  left.swap(deferred_);
  const int result = result_;
  lock.unlock();
  for (const Deferred& job : left) job(false);
  return result;
}

// The first worker is the caller of `run`, and has ended already.
void ServingLoop::join_all() {
  for (;;) {
    Worker* running = nullptr;
    {
      const MutexLock lock(mutex_);
      const auto found = std::ranges::find_if(workers_, [](const auto& w) { return w->own.joinable(); });
      if (found != workers_.end()) running = found->get();
    }
    if (running == nullptr) return;
    running->own.join();
  }
}

void ServingLoop::interrupt() {
  const MutexLock lock(mutex_);
  if (leader_ != nullptr) ::pthread_kill(leader_->thread, options_.wake_signal);
}

ServingLoop::Counters ServingLoop::counters() const {
  const MutexLock lock(mutex_);
  return {.passed = passed_,
          .taken = taken_,
          .deferred = deferred_count_,
          .threads = static_cast<unsigned>(workers_.size()) - ended_,
          .idle = static_cast<unsigned>(idle_.size()),
          .replaced = replaced_};
}

bool ServingLoop::stopping() const {
  const MutexLock lock(mutex_);
  return stop_;
}

void ServingLoop::serve(Worker& me) {
  if (options_.wake_signal != 0) {
    sigset_t waking;
    sigemptyset(&waking);
    sigaddset(&waking, options_.wake_signal);
    ::pthread_sigmask(SIG_UNBLOCK, &waking, nullptr);
  }
  t_loop = this;
  t_worker = &me;
  set_long_work_listener(&me);
  MutexLock lock(mutex_);
  while (wait_for_work(me, lock)) {
    if (leader_ == &me) {
      lock.unlock();
      lead(me);
      lock.lock();
      continue;
    }
    const Deferred job = std::move(deferred_.front());
    deferred_.pop_front();
    lock.unlock();
    me.at_work_since.store(milliseconds(Clock::now()), std::memory_order_relaxed);
    at_long_work_.fetch_add(1, std::memory_order_relaxed);
    run_guarded("a deferred request", [&] { job(true); });
    at_long_work_.fetch_sub(1, std::memory_order_relaxed);
    me.at_work_since.store(kIdle, std::memory_order_relaxed);
    lock.lock();
  }
  set_long_work_listener(nullptr);
  t_loop = nullptr;
  t_worker = nullptr;
}

// Returns with the lead, or when a read is deferred; returns false at the end. The lead comes first: quick
// requests are then answered, and the reads are left to the threads that are at work now.
bool ServingLoop::wait_for_work(Worker& me, MutexLock& lock) {
  for (;;) {
    if (stop_) return false;
    if (leader_ == nullptr) leader_ = &me;
    if (leader_ == &me || !deferred_.empty()) return true;
    if (superfluous(me)) {
      me.ended = true;
      ++ended_;
      return false;
    }
    idle_.push_back(&me);
    note_spare();
    me.woken = false;
    while (!me.woken) me.wake.wait(lock);
  }
}

// Returns when the lead was lost, or when the loop ends.
void ServingLoop::lead(Worker& me) {
  constexpr unsigned kMaxWithoutMemory = 200;
  constexpr std::chrono::milliseconds kBetweenWithoutMemory{50};
  unsigned without_memory = 0;
  me.phase.store(Phase::Receiving);
  for (;;) {
    const int length = channel_.ended() ? 0 : receive(me);
    if (length <= 0) {
      if (length == -EINTR && !channel_.ended()) continue;
      // There is no memory for a buffer, but another request may free some.
      if (length == -ENOMEM && ++without_memory <= kMaxWithoutMemory) {
        std::this_thread::sleep_for(kBetweenWithoutMemory);
        continue;
      }
      me.affinity.release();
      end(channel_.ended() ? 0 : length);
      return;
    }
    without_memory = 0;
    me.requests.store(me.requests.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    me.phase.store(Phase::Processing);  // in one order with all: the check sleeps only if it cannot see it
    if (leader_check_) leader_check_->wake();
    const pid_t client = channel_.client_of(me.buffer);
    const Clock::time_point received = Clock::now();
    me.at_work_since.store(milliseconds(received), std::memory_order_relaxed);
    channel_.process(me.buffer);
    me.at_work_since.store(kIdle, std::memory_order_relaxed);
    Phase processing = Phase::Processing;
    if (!me.phase.compare_exchange_strong(processing, Phase::Receiving)) {
      at_long_work_.fetch_sub(1, std::memory_order_relaxed);
      me.affinity.release();
      return;
    }
    if (me.wait.received(client, received) != Wait::Follow)
      me.affinity.release();
    else if (client != WaitChoice::kNobody)
      me.affinity.follow(client);
  }
}

// Only while no other thread is at work: the others need the processor.
bool ServingLoop::polls(const Worker& worker) const {
  return worker.wait.way() == Wait::Poll && at_long_work_.load(std::memory_order_relaxed) == 0;
}

int ServingLoop::receive(Worker& me) {
  if (polls(me))
    for (const auto end = Clock::now() + kPoll; !channel_.ready() && Clock::now() < end;) {
    }
  return channel_.receive(me.buffer);
}

void ServingLoop::pass_lead(Worker& from, std::atomic<std::uint64_t>& counter) {
  if (from.phase.load(std::memory_order_relaxed) != Phase::Processing) return;  // not the leader
  const MutexLock lock(mutex_);
  if (idle_.empty() && !may_start()) return;  // nobody could take it
  Phase processing = Phase::Processing;
  if (stop_ || !from.phase.compare_exchange_strong(processing, Phase::Lost)) return;
  counter.fetch_add(1, std::memory_order_relaxed);
  at_long_work_.fetch_add(1, std::memory_order_relaxed);
  threads_check_->wake();
  leader_ = nullptr;
  appoint_leader();
}

void ServingLoop::appoint_leader() {
  if (!idle_.empty()) {
    leader_ = idle_.back();
    wake_idle();
  } else {
    add_leader();  // if it fails, the next thread that is done leads
  }
}

void ServingLoop::add_leader() {
  if (may_start()) leader_ = start_worker();
  note_spare();
}

ServingLoop::Worker* ServingLoop::start_worker() {
  try {
    auto made = std::make_unique<Worker>(*this);
    Worker& worker = *made;
    workers_.reserve(workers_.size() + 1);
    worker.own = start_thread("h5-serve", [this, &worker] { serve(worker); });
    worker.thread = worker.own.native_handle();
    workers_.push_back(std::move(made));
    return &worker;
  } catch (const std::exception& exception) {  // no memory, or the limit of threads
    if (!std::exchange(refused_, true))
      log(LogLevel::Warning, "no further thread can serve requests: {}", exception.what());
    return nullptr;
  }
}

bool ServingLoop::may_start() const {
  return workers_.size() - ended_ < most_threads();
}

std::size_t ServingLoop::most_threads() const {
  return options_.max_threads + replaced_;
}

// The caller of `run` is never superfluous.
bool ServingLoop::superfluous(const Worker& me) const {
  return workers_.size() - ended_ > most_threads() && &me != workers_.front().get();
}

void ServingLoop::wake(Worker& worker) {
  worker.woken = true;
  worker.wake.notify_one();
}

void ServingLoop::note_spare() {
  spare_.store(options_.max_threads == 1 || !idle_.empty() || may_start(), std::memory_order_relaxed);
}

void ServingLoop::defer(Deferred job) {
  deferred_count_.fetch_add(1, std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  deferred_.push_back(std::move(job));
  if (!wake_idle() && threads_check_) threads_check_->wake();
}

bool ServingLoop::run_beside(Deferred job) {
  const MutexLock lock(mutex_);
  if (stop_ || (idle_.empty() && !may_start())) return false;
  deferred_.push_back(std::move(job));
  if (wake_idle() || start_worker() != nullptr) return true;
  deferred_.pop_back();
  return false;
}

bool ServingLoop::wake_idle() {
  if (idle_.empty()) return false;
  Worker& free = *idle_.back();
  idle_.pop_back();
  note_spare();
  wake(free);
  return true;
}

void ServingLoop::end(int result) {
  if (options_.on_end) options_.on_end();
  const MutexLock lock(mutex_);
  stop_ = true;
  result_ = result;
  leader_ = nullptr;
  for (Worker* const worker : idle_) wake(*worker);
  idle_.clear();
}

// ---- the watchdog's looks

bool ServingLoop::look_at_leader() {
  Worker* leader = nullptr;
  bool same = false;
  {
    const MutexLock lock(mutex_);
    if (stop_) return false;
    leader = leader_;
    const std::uint64_t requests = leader == nullptr ? 0 : leader->requests.load(std::memory_order_relaxed);
    same = leader != nullptr && leader == seen_leader_ && requests == seen_requests_;
    seen_leader_ = leader;
    seen_requests_ = requests;
  }
  if (!same) return true;
  if (leader->phase.load() != Phase::Processing) return false;
  pass_lead(*leader, taken_);
  return true;
}

// While the loop runs, threads that have ended are joined only here, so that a leader that was seen stays
// valid.
bool ServingLoop::look_at_threads() {
  std::vector<std::unique_ptr<Worker>> ended;
  bool any = false;
  {
    const MutexLock lock(mutex_);
    if (stop_) return false;
    replace_long_at_work();
    ended = take_ended();
    any = at_long_work_ > 0 || !deferred_.empty() || workers_.size() > options_.max_threads;
  }
  for (const auto& worker : ended) worker->own.join();
  return any;
}

void ServingLoop::replace_long_at_work() {
  const std::int64_t began_before = milliseconds(Clock::now()) - options_.long_at_work.count();
  const auto at_work = std::ranges::count_if(workers_, [&](const auto& worker) {
    return worker->at_work_since.load(std::memory_order_relaxed) < began_before;
  });
  replaced_ = static_cast<unsigned>(std::min<std::ptrdiff_t>(at_work, kMaxReplaced));
  // Starts threads for the reads that wait, and appoints a leader if all threads were at work.
  for (std::size_t waiting = deferred_.size(); waiting > 0 && idle_.empty() && may_start(); --waiting)
    if (start_worker() == nullptr) break;
  // Idle threads that have become superfluous are woken so that they end.
  for (std::size_t threads = workers_.size() - ended_; threads > most_threads() && !idle_.empty();
       --threads) {
    wake(*idle_.front());
    idle_.erase(idle_.begin());
  }
  note_spare();
}

std::vector<std::unique_ptr<ServingLoop::Worker>> ServingLoop::take_ended() {
  std::vector<std::unique_ptr<Worker>> ended;
  for (auto& worker : workers_)
    if (worker->ended) ended.push_back(std::move(worker));
  std::erase(workers_, nullptr);
  ended_ -= static_cast<unsigned>(ended.size());
  return ended;
}

}  // namespace h5mount::fuse

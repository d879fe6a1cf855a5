// Connections: the open connections and what each is waiting for. Those whose client lets the server wait
// longer than a deadline are shut down, so that no number of slow clients holds all connections.
// libmicrohttpd's own timeout would begin anew with each byte; these begin with each header. Threads: any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <unordered_set>

#include "h5mount/base/thread_annotations.h"

namespace h5mount::serve {

enum class Phase : std::uint8_t {
  Header,   // waits for the client to send all of its next header
  Working,  // waits for this program
  Sending,  // waits for the client to take what was sent
};

class Connection {
 public:
  explicit Connection(int descriptor) : descriptor_(descriptor) {}
  void enter(Phase phase);
  int descriptor() const { return descriptor_; }
  Phase phase() const { return phase_.load(std::memory_order_relaxed); }
  std::chrono::steady_clock::duration waited() const;
  // To be called after the first answer: the connection then waits for another request, which may never come.
  void set_reused() { reused_.store(true, std::memory_order_relaxed); }
  bool reused() const { return reused_.load(std::memory_order_relaxed); }
  // Whether no request has come, and none is to be expected at once.
  bool is_idle() const;

 private:
  const int descriptor_;
  std::atomic<Phase> phase_ = Phase::Header;
  std::atomic<std::chrono::steady_clock::rep> since_ =
      std::chrono::steady_clock::now().time_since_epoch().count();
  std::atomic<bool> reused_ = false;
};

struct Deadlines {
  std::chrono::milliseconds header, stall;
  std::size_t
      crowded;  // from this number of connections on, those that may send another request are shut down
};

class Connections {
 public:
  explicit Connections(const Deadlines& deadlines) : deadlines_(deadlines) {}

  Connection* add(int descriptor);
  // To be called before the descriptor is closed.
  void remove(Connection* connection);
  std::size_t count() const { return count_.load(std::memory_order_relaxed); }
  bool crowded() const { return count() >= deadlines_.crowded; }

  void shut_late() const;  // shuts down those past their deadline
  // Shuts down those between two requests. Of requests that may be on their way, as others go on with the
  // socket (`gently`), none is lost: neither where it has come, nor until nobody would send it any more.
  void shut_waiting(bool gently) const;

 private:
  const Deadlines deadlines_;
  mutable Mutex mutex_;
  std::unordered_set<Connection*> all_ H5_GUARDED_BY(mutex_);
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace h5mount::serve

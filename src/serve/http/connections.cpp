#include "connections.h"

#include <poll.h>
#include <sys/socket.h>

namespace h5mount::serve {
namespace {

using std::chrono::steady_clock;

// A client that reuses its connection at once has sent its next request within this time.
constexpr std::chrono::milliseconds kCrowdedWait{500};
// A client that has just connected sends a request, even if the processor has little time for it.
constexpr std::chrono::milliseconds kFirstWait{5'000};

}  // namespace

void Connection::enter(Phase phase) {
  since_.store(steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  phase_.store(phase, std::memory_order_relaxed);
}

steady_clock::duration Connection::waited() const {
  return steady_clock::now().time_since_epoch() -
         steady_clock::duration(since_.load(std::memory_order_relaxed));
}

bool Connection::is_idle() const {
  pollfd request{descriptor_, POLLIN, 0};
  return waited() > (reused() ? kCrowdedWait : kFirstWait) && ::poll(&request, 1, 0) == 0;
}

Connection* Connections::add(int descriptor) {
  auto connection = std::make_unique<Connection>(descriptor);
  const MutexLock lock(mutex_);
  all_.insert(connection.get());
  count_.store(all_.size(), std::memory_order_relaxed);
  return connection.release();
}

void Connections::remove(Connection* connection) {
  const std::unique_ptr<Connection> owned(connection);
  const MutexLock lock(mutex_);
  all_.erase(connection);
  count_.store(all_.size(), std::memory_order_relaxed);
}

// The descriptors are valid while the lock is held: they are closed after `remove`.
void Connections::shut_late() const {
  const MutexLock lock(mutex_);
  const bool crowded = this->crowded();
  for (const Connection* connection : all_) {
    const Phase phase = connection->phase();
    const auto waited = connection->waited();
    const bool late = (phase == Phase::Header && waited > deadlines_.header) ||
                      (phase == Phase::Sending && waited > deadlines_.stall) ||
                      (phase == Phase::Header && crowded && connection->reused() && waited > kCrowdedWait);
    if (late) ::shutdown(connection->descriptor(), SHUT_RDWR);
  }
}

void Connections::shut_waiting(bool gently) const {
  const MutexLock lock(mutex_);
  for (const Connection* connection : all_)
    if (connection->phase() == Phase::Header && (!gently || connection->is_idle()))
      ::shutdown(connection->descriptor(), SHUT_RDWR);
}

}  // namespace h5mount::serve

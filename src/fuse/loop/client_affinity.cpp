#include "client_affinity.h"

#include "client_state.h"

namespace h5mount::fuse {

void ClientAffinity::bind() {
  const std::optional<int> processor = processor_of_(client_);
  if (!processor || *processor == bound_to_ || *processor < 0 || *processor >= CPU_SETSIZE) return;
  if (!bound() && ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  if (!CPU_ISSET(static_cast<std::size_t>(*processor), &before_)) return release();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(*processor), &one);
  if (::sched_setaffinity(0, sizeof one, &one) == 0) bound_to_ = *processor;
}

void ClientAffinity::release() {
  requests_ = 0;
  if (!bound()) return;
  ::sched_setaffinity(0, sizeof before_, &before_);
  bound_to_ = -1;
}

std::optional<int> ClientAffinity::processor_of_thread(pid_t thread) {
  const auto stat = thread_stat(thread);
  return stat && stat->processor >= 0 ? std::optional(stat->processor) : std::nullopt;
}

}  // namespace h5mount::fuse

#include "status_report.h"

#include <pthread.h>
#include <signal.h>

#include <fstream>
#include <string>

#include "h5mount/base/log.h"
#include "h5mount/dataset/dataset_reader.h"
#include "h5mount/filter/filter.h"

namespace h5mount::cli {
namespace {

std::uint64_t peak_memory_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib;
  }
  return 0;
}

// One line of name=value: read by people and by tests/bench alike.
void tell(const BlockCache& cache) {
  const ReadCounters& read = read_counters();
  const BlockCache::Counters counters = cache.counters();
  log(LogLevel::Warning,
      "status: chunks_decoded={} stored_bytes_read={} bands_made={} bands_ahead={} pages_handed_on={} "
      "cache_hits={} cache_misses={} cache_joins={} cache_evictions={} cache_used={} cache_size={} "
      "blocks_decoded={} blocks_in_reach={} peak_memory_kib={}",
      read.chunks_decoded.load(), read.stored_bytes_read.load(), read.bands_made.load(),
      read.bands_ahead.load(), read.pages_handed_on.load(), counters.hits, counters.misses, counters.joins,
      counters.evictions, cache.used(), cache.budget(), filter_counters().blocks_decoded.load(),
      filter_counters().blocks_in_reach.load(), peak_memory_kib());
}

}  // namespace

StatusReport::StatusReport(std::shared_ptr<BlockCache> cache) : cache_(std::move(cache)) {
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { wait_for_signals(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StatusReport::~StatusReport() {
  ending_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

void StatusReport::wait_for_signals() {
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  for (int signal = 0; sigwait(&usr1, &signal) == 0 && !ending_;) tell(*cache_);
}

}  // namespace h5mount::cli

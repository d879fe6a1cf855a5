#include "status_report.h"

#include "remote_files.h"
#include "salvage_files.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "h5mount/base/log.h"
#include "h5mount/base/thread.h"
#include "h5mount/filter/filter.h"
#include "h5mount/io/descriptors.h"

namespace h5mount::cli {
namespace {

std::uint64_t memory_kib(std::string_view which) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == which && status >> kib) return kib;
  }
  return 0;
}

constexpr std::chrono::milliseconds kAskedWithin{50};

std::atomic<bool> g_asked = false;
std::atomic<Watchdog::Check*> g_check = nullptr;

extern "C" void on_usr1(int /*signal*/) {
  const int saved = errno;
  g_asked = true;
  if (Watchdog::Check* const check = g_check.load(); check != nullptr) check->wake();
  errno = saved;
}

// Logs from a thread of its own: the reader of the log may have stopped reading, and the watchdog must not
// wait.
void log_status(const std::shared_ptr<const MountStatus>& status) try {
  start_thread("h5-status", [status] { log_line(LogLevel::Warning, status->line()); }).detach();
} catch (const std::exception& error) {
  log(LogLevel::Warning, "no thread to answer SIGUSR1: {}", error.what());
}

}  // namespace

MountStatus::MountStatus(std::string file, std::shared_ptr<cache::BlockCache> cache)
    : file_(std::move(file)), cache_(std::move(cache)) {}

void MountStatus::set_files(const std::shared_ptr<object::FileSet>& files) {
  const MutexLock lock(mutex_);
  files_ = files;
}

std::shared_ptr<object::FileSet> MountStatus::files() const {
  const MutexLock lock(mutex_);
  return files_.lock();
}

void MountStatus::set_forest(const std::shared_ptr<tree::Forest>& forest) {
  const MutexLock lock(mutex_);
  forest_ = forest;
}

std::shared_ptr<tree::Forest> MountStatus::forest() const {
  const MutexLock lock(mutex_);
  return forest_.lock();
}

std::uint64_t MountStatus::all_failures() const {
  std::uint64_t sum = 0;
  for (const auto& count : counters_->failures) sum += count.load(std::memory_order_relaxed);
  return sum;
}

// "failures_checksum_mismatch: 3", for every cause that has occurred.
void MountStatus::append_failures(std::string& out) const {
  for (std::size_t i = 0; i < Counters::kErrorCodes; ++i) {
    const std::uint64_t count = counters_->failures[i].load(std::memory_order_relaxed);
    if (count == 0) continue;
    std::string name(error_code_name(static_cast<ErrorCode>(i)));
    std::ranges::replace(name, ' ', '_');
    out += fmt::format("failures_{}: {}\n", name, count);
  }
}

namespace {

template <class Counters>
void add_joined(const join::JoinCounts& counts, Counters& out) {
  out.push_back({"joined_files", counts.files});
  out.push_back({"joined_files_left_out", counts.left_out});
  out.push_back({"joined_files_waiting", counts.waiting});
  out.push_back({"joined_variables", counts.variables});
  out.push_back({"joined_variables_refused", counts.refused});
  out.push_back({"joined_plans", counts.plans});
  out.push_back({"joined_headers_read", counts.cards_read});
  out.push_back({"joined_headers_remembered", counts.cards_remembered});
  out.push_back({"joined_headers_to_read", counts.to_read - std::min(counts.reading, counts.to_read)});
}

}  // namespace

std::vector<MountStatus::Counter> MountStatus::numbers() const {
  const cache::BlockCache::Counters cache = cache_->counters();
  const auto files = this->files();
  std::vector<Counter> out = {
      {"requests", counters_->requests},
      {"failures", all_failures()},
      {"missing_sources", counters_->missing_sources},
      {"open_files", files ? files->open_files().size() : io::open_descriptor_count()},
      {"chunks_decoded", counters_->chunks_decoded},
      {"stored_bytes_read", counters_->stored_bytes_read},
      {"row_blocks_made", counters_->row_blocks_made},
      {"units_ahead", counters_->units_ahead},
      {"pages_handed_on", counters_->pages_handed_on},
      {"blocks_decoded", filter::filter_counters().blocks_decoded},
      {"blocks_in_reach", filter::filter_counters().blocks_in_reach},
      {"salvage_swept", salvage_counters().swept},
      {"salvage_found", salvage_counters().found},
      {"salvage_unreadable", salvage_counters().unreadable},
      {"cache_hits", cache.hits},
      {"cache_misses", cache.misses},
      {"cache_joins", cache.joins},
      {"cache_evictions", cache.evictions},
      {"cache_used", cache_->used()},
      {"cache_size", cache_->budget()},
      {"memory_kib", memory_kib("VmRSS:")},
      {"peak_memory_kib", memory_kib("VmHWM:")}};
  if (uses_remote()) {
    const remote::Counters remote = remote_counters();
    out.push_back({"remote_requests", remote.requests});
    out.push_back({"remote_bytes", remote.bytes});
    out.push_back({"remote_rounds", remote.rounds});
    out.push_back({"remote_retries", remote.retries});
    out.push_back({"disk_cache_hits", remote.disk_hits});
  }
  if (const auto forest = this->forest()) {
    const tree::ForestCounts counts = forest->counts();
    out.push_back({"known_files", counts.known});
    out.push_back({"files_in_memory", counts.trees});
    out.push_back({"watched_directories", counts.watches});
    out.push_back({"catalogues_being_made", counts.passes});
    out.push_back({"catalogue_files_told", counts.told});
    out.push_back({"catalogue_files_to_tell", counts.to_tell});
    out.push_back({"catalogue_files_opened", counts.opened});
    out.push_back({"catalogue_files_remembered", counts.remembered});
    if (counts.joined) add_joined(*counts.joined, out);
  }
  return out;
}

std::string MountStatus::text() const {
  const auto uptime =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start_).count();
  const auto files = this->files();
  std::string out =
      fmt::format("file: {}\nversion: {}\npid: {}\nuptime_seconds: {}\nfollowed: {}\n", escape_for_log(file_),
                  H5MOUNT_VERSION, ::getpid(), uptime, files && files->follows() ? "yes" : "no");
  for (const Counter& counter : numbers()) out += fmt::format("{}: {}\n", counter.name, counter.value);
  append_failures(out);
  return out;
}

std::string MountStatus::line() const {
  std::string out = file_ + ": status:";
  for (const Counter& counter : numbers()) out += fmt::format(" {}={}", counter.name, counter.value);
  return out;
}

StatusReport::StatusReport(std::shared_ptr<const MountStatus> status)
    : check_(kAskedWithin, [status = std::move(status)](Watchdog::Clock::time_point) {
        if (g_asked.exchange(false)) log_status(status);
        return false;
      }) {
  g_check = &check_;
  struct sigaction asking = {};
  asking.sa_handler = on_usr1;
  asking.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &asking, nullptr);
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  ::pthread_sigmask(SIG_UNBLOCK, &usr1, nullptr);  // the parent process may have blocked it
}

StatusReport::~StatusReport() {
  ::signal(SIGUSR1, SIG_IGN);
  g_check = nullptr;
}

}  // namespace h5mount::cli

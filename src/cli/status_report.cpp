#include "status_report.h"

#include "salvage_files.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <system_error>

#include "h5mount/base/log.h"
#include "h5mount/dataset/dataset_reader.h"
#include "h5mount/filter/filter.h"
#include "h5mount/fuse/page_counters.h"
#include "h5mount/tree/tree.h"

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

std::uint64_t all_failures() {
  std::uint64_t sum = 0;
  for (const auto& count : tree::tree_counters().failures) sum += count.load(std::memory_order_relaxed);
  return sum;
}

// "failures_checksum_mismatch: 3", for every cause that has occurred.
void append_failures(std::string& out) {
  for (std::size_t i = 0; i < tree::TreeCounters::kErrorCodes; ++i) {
    const std::uint64_t count = tree::tree_counters().failures[i].load(std::memory_order_relaxed);
    if (count == 0) continue;
    std::string name(error_code_name(static_cast<ErrorCode>(i)));
    std::ranges::replace(name, ' ', '_');
    out += fmt::format("failures_{}: {}\n", name, count);
  }
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

std::vector<MountStatus::Counter> MountStatus::counters() const {
  const dataset::ReadCounters& read = dataset::read_counters();
  const cache::BlockCache::Counters cache = cache_->counters();
  const auto files = this->files();
  return {{"requests", tree::tree_counters().requests},
          {"failures", all_failures()},
          {"missing_sources", tree::tree_counters().missing_sources},
          {"open_files", files ? files->open_files().size() : 0},
          {"chunks_decoded", read.chunks_decoded},
          {"stored_bytes_read", read.stored_bytes_read},
          {"row_blocks_made", read.row_blocks_made},
          {"units_ahead", read.units_ahead},
          {"pages_handed_on", read.pages_handed_on},
          {"random_pages_stored", fuse::page_counters().random_pages_stored},
          {"probes", fuse::page_counters().probes},
          {"probes_used", fuse::page_counters().probes_used},
          {"blocks_decoded", filter::filter_counters().blocks_decoded},
          {"blocks_in_reach", filter::filter_counters().blocks_in_reach},
          {"salvage_swept", salvage_counters().swept},
          {"salvage_found", salvage_counters().found},
          {"cache_hits", cache.hits},
          {"cache_misses", cache.misses},
          {"cache_joins", cache.joins},
          {"cache_evictions", cache.evictions},
          {"cache_used", cache_->used()},
          {"cache_size", cache_->budget()},
          {"memory_kib", memory_kib("VmRSS:")},
          {"peak_memory_kib", memory_kib("VmHWM:")}};
}

std::string MountStatus::text() const {
  const auto uptime =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start_).count();
  const auto files = this->files();
  std::string out =
      fmt::format("file: {}\nversion: {}\nuptime_seconds: {}\nfollowed: {}\n", escape_for_log(file_),
                  H5MOUNT_VERSION, uptime, files && files->follows() ? "yes" : "no");
  for (const Counter& counter : counters()) out += fmt::format("{}: {}\n", counter.name, counter.value);
  append_failures(out);
  return out;
}

std::string MountStatus::line() const {
  std::string out = file_ + ": status:";
  for (const Counter& counter : counters()) out += fmt::format(" {}={}", counter.name, counter.value);
  return out;
}

StatusReport::StatusReport(std::shared_ptr<const MountStatus> status) : status_(std::move(status)) {
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { wait_for_signals(); });
  } catch (const std::system_error& error) {
    log(LogLevel::Warning, "no thread to answer SIGUSR1: {}", error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StatusReport::~StatusReport() {
  if (!thread_.joinable()) return;
  ending_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

void StatusReport::wait_for_signals() {
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  for (int signal = 0; sigwait(&usr1, &signal) == 0 && !ending_;)
    log_line(LogLevel::Warning, status_->line());
}

}  // namespace h5mount::cli

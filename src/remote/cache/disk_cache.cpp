#include "disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <exception>
#include <thread>

#include "h5mount/base/checked.h"
#include "h5mount/base/log.h"
#include "h5mount/base/own_directory.h"
#include "h5mount/base/thread.h"
#include "h5mount/sign/sha256.h"

namespace h5mount::remote {
namespace {

constexpr std::uint64_t kMaxPartBytes = 64U << 20;
constexpr std::uint64_t kMaxWaitingBytes = 64U << 20;
constexpr std::uint64_t kFileBlock = 4096;  // a file takes whole blocks of this size on a disk
constexpr std::chrono::milliseconds kTurnPause{5}, kLongestTurn{500};
constexpr std::chrono::seconds kTurnAgain{10};  // after other programs have held the lock for too long
constexpr const char* kLock = "lock";
constexpr const char* kTag = "CACHEDIR.TAG";
constexpr std::string_view kTagText = "Signature: 8a477f597d28d172789f06886806bc55\n";

constexpr int kOpenFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

// Whether a file belongs to the cache, by its name.
bool is_part(std::string_view name) {
  return name.size() > 33 && name[32] == '-' &&
         name.substr(0, 32).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The number of bytes in the cache. It is stored in the locked file, so that nobody needs to count them.
struct Total {
  std::uint64_t bytes, check;
};

std::optional<std::uint64_t> read_total(int lock) {
  Total out;
  const bool sound = ::pread(lock, &out, sizeof out, 0) == sizeof out && out.check == ~out.bytes;
  return sound ? std::optional(out.bytes) : std::nullopt;
}

bool write_total(int lock, std::uint64_t bytes) {
  const Total total{bytes, ~bytes};
  return ::pwrite(lock, &total, sizeof total, 0) == sizeof total;
}

struct Space {
  std::uint64_t free = 0, whole = 0;
};

Space space_of(int directory) {
  struct statvfs st{};
  if (::fstatvfs(directory, &st) != 0) return {};
  return {std::uint64_t{st.f_bavail} * st.f_frsize, std::uint64_t{st.f_blocks} * st.f_frsize};
}

struct PartFile {
  std::string name;
  std::int64_t used = 0;
  std::uint64_t bytes = 0;
};

std::vector<PartFile> list_parts(int directory) {
  std::vector<PartFile> out;
  const int own = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listing = own < 0 ? nullptr : ::fdopendir(own);
  if (listing == nullptr) return out;
  while (const struct dirent* const entry = ::readdir(listing)) {
    struct stat st = {};
    if (!is_part(entry->d_name) || ::fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    const std::uint64_t bytes = divide_up(static_cast<std::uint64_t>(st.st_size), kFileBlock) * kFileBlock;
    out.push_back({entry->d_name, st.st_mtim.tv_sec * 1'000'000'000 + st.st_mtim.tv_nsec, bytes});
  }
  ::closedir(listing);
  std::ranges::sort(out, {}, &PartFile::used);
  return out;
}

}  // namespace

Result<std::unique_ptr<DiskCache>> DiskCache::open(const std::string& directory, std::uint64_t most_bytes) {
  if (!sign::has_sha256())
    return fail({ErrorCode::UnsupportedFeature, "this h5mount has no libcrypto, which disk_cache= needs"});
  // ~/.cache may not exist yet; any other error shows in the next line.
  (void)::mkdir(directory.substr(0, directory.rfind('/')).c_str(), 0700);
  H5_ASSIGN(UniqueFd fd, open_own_directory(directory));
  const UniqueFd tag(::openat(fd.get(), kTag, O_WRONLY | O_CREAT | O_EXCL | kOpenFlags, 0600));
  if (tag && ::write(tag.get(), kTagText.data(), kTagText.size()) < 0)
    log(LogLevel::Debug, "{}: {}", directory, std::strerror(errno));
  return std::make_unique<DiskCache>(std::move(fd), most_bytes);
}

DiskCache::DiskCache(UniqueFd directory, std::uint64_t most_bytes)
    : directory_(std::move(directory)),
      most_bytes_(most_bytes),
      part_bytes_(std::min(std::bit_floor(most_bytes_ / 16), kMaxPartBytes)) {}

void DiskCache::later(std::uint64_t bytes, std::function<void()> job) {
  if (waiting_bytes_.load(std::memory_order_relaxed) + bytes > kMaxWaitingBytes) return;
  const MutexLock lock(mutex_);
  if (finished_) return;
  if (!jobs_) {
    try {
      jobs_ = std::make_unique<JobQueue>(
          JobQueue::Options{.name = "h5-disk-cache", .threads = 1, .limit = JobQueue::kUnlimited});
    } catch (const std::exception&) {  // no thread, or no memory for one
      return;
    }
  }
  JobQueue::Job counted = [this, bytes, job = std::move(job)] {
    run_guarded("h5-disk-cache", job);
    waiting_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  };
  waiting_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  JobQueue& jobs = *jobs_;
  if (!run_guarded("h5-disk-cache", [&] { jobs.submit(std::move(counted)); }))
    waiting_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

void DiskCache::finish() {
  std::unique_ptr<JobQueue> jobs;
  {
    const MutexLock lock(mutex_);
    finished_ = true;
    jobs = std::move(jobs_);
  }
  if (jobs) jobs->drain();
}

std::optional<UniqueFd> DiskCache::take_turn() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point now = Clock::now();
  if (now.time_since_epoch().count() < busy_until_.load(std::memory_order_relaxed)) return std::nullopt;
  UniqueFd out(::openat(directory_.get(), kLock, O_RDWR | O_CREAT | kOpenFlags, 0600));
  if (!out) return std::nullopt;
  while (::flock(out.get(), LOCK_EX | LOCK_NB) != 0) {
    if (Clock::now() - now > kLongestTurn) {
      busy_until_.store((Clock::now() + kTurnAgain).time_since_epoch().count(), std::memory_order_relaxed);
      return std::nullopt;
    }
    std::this_thread::sleep_for(kTurnPause);
  }
  return out;
}

bool DiskCache::make_room(const UniqueFd& turn, std::uint64_t bytes) const {
  std::optional<std::uint64_t> total = read_total(turn.get());
  Space space = space_of(directory_.get());
  const std::uint64_t needed = space.whole / 10 + bytes;
  if (!total || *total > most_bytes_ - bytes || space.free < needed) {
    const std::uint64_t spare = std::max(bytes, most_bytes_ / 16);  // so that this is not done every time
    total = drop_oldest(most_bytes_ - spare, needed);
    space = space_of(directory_.get());
  }
  return space.free >= needed && write_total(turn.get(), *total + bytes);
}

// Drops the files that were used least recently until at most `most` bytes remain and `free_bytes` are free
// in the file system. Returns the number of bytes that remain.
std::uint64_t DiskCache::drop_oldest(std::uint64_t most, std::uint64_t free_bytes) const {
  const std::vector<PartFile> parts = list_parts(directory_.get());
  std::uint64_t total = 0;
  for (const PartFile& part : parts) total += part.bytes;
  for (const PartFile& part : parts) {
    if (total <= most && space_of(directory_.get()).free >= free_bytes) break;
    if (::unlinkat(directory_.get(), part.name.c_str(), 0) == 0) total -= part.bytes;
  }
  return total;
}

}  // namespace h5mount::remote

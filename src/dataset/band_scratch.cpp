#include "band_scratch.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "h5mount/base/log.h"

namespace h5mount {
namespace {

constexpr std::uint64_t kStripBytes = 4U << 20;

// An unlinked file that vanishes with its descriptor, whatever ends the program.
Result<int> open_unlinked(const char* directory) {
  const int fd = ::open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  std::string name = std::string(directory) + "/h5mount-XXXXXX";  // file systems without O_TMPFILE
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) return fail(io_error(errno, std::string("a scratch file in ") + directory));
  ::unlink(name.c_str());
  return named;
}

Status write_all(int fd, ByteSpan bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(io_error(n < 0 ? errno : ENOSPC, "writing a scratch file"));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Status read_all(int fd, MutableByteSpan bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(io_error(n < 0 ? errno : EIO, "reading a scratch file"));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

}  // namespace

BandScratch::Band::~Band() {
  if (fd >= 0) ::close(fd);
}

BandScratch::BandScratch(const ChunkStore& store)
    : store_(store),
      plan_(store.plan()),
      strip_rows_(std::max<std::uint64_t>(1, kStripBytes / plan_.row_bytes())),
      chunk_row_bytes_(plan_.chunk_bytes() / plan_.band_chunk_rows()) {}

BandScratch::~BandScratch() = default;

Result<BandScratch::Strip> BandScratch::strip_at(std::uint64_t offset, BlockCache& cache, std::uint64_t owner,
                                                 std::uint64_t kind, WorkerPool& workers) {
  const std::uint64_t band = plan_.band_at(offset);
  const std::uint64_t band_offset = plan_.band_offset(band);
  const std::uint64_t rows = plan_.band_rows(band);
  const std::uint64_t strip = (offset - band_offset) / plan_.row_bytes() / strip_rows_;
  const std::uint64_t first_row = strip * strip_rows_;
  const std::uint64_t count = std::min(strip_rows_, rows - first_row);
  const std::uint64_t strips_per_band = divide_up(plan_.band_chunk_rows(), strip_rows_);
  auto block = cache.get_or_load({owner, kind, band * strips_per_band + strip},
                                 static_cast<std::size_t>(count * plan_.row_bytes()), [&](Block& out) -> Status {
                                   const auto ready = band_ready(band, workers);
                                   H5_TRY(ready->result);
                                   return gather(*ready, first_row, count, out.bytes());
                                 });
  if (!block) return fail(std::move(block).error());
  return Strip{std::move(*block), band_offset + first_row * plan_.row_bytes()};
}

std::shared_ptr<BandScratch::Band> BandScratch::band_ready(std::uint64_t number, WorkerPool& workers) {
  std::shared_ptr<Band> band;
  bool mine = false;
  {
    const std::lock_guard lock(mutex_);
    if (!current_ || current_->band != number) {
      current_ = std::make_shared<Band>(number);
      mine = true;
    }
    band = current_;
  }
  if (mine) {
    Status result = fill_band(*band, workers);
    const std::lock_guard lock(band->mutex);
    band->result = std::move(result);
    band->done = true;
    band->ready.notify_all();
  } else {
    std::unique_lock lock(band->mutex);
    band->ready.wait(lock, [&] { return band->done; });
  }
  return band;
}

Status BandScratch::fill_band(Band& band, WorkerPool& workers) const {
  const char* named = std::getenv("TMPDIR");
  const char* directory = named != nullptr && *named == '/' ? named : "/var/tmp";
  H5_ASSIGN(band.fd, open_unlinked(directory));
  struct statvfs space {};
  const auto needed = checked_mul(plan_.chunks_per_band(), plan_.chunk_bytes());
  const std::uint64_t room = ::fstatvfs(band.fd, &space) == 0 ? std::uint64_t{space.f_bavail} * space.f_frsize / 2 : 0;
  if (!needed || *needed > room)
    return fail(Error(ErrorCode::LimitExceeded, "a row of chunks larger than cache_size needs a scratch file, and " +
                                                    std::string(directory) + " has no room for it"));
  log(LogLevel::Info, "a row of chunks of {} bytes is more than the cache holds: decoded once into a file in {}",
      *needed, directory);
  const std::uint64_t first = band.band * plan_.chunks_per_band();
  std::mutex mutex;
  Status failure;
  std::atomic<bool> failed{false};
  workers.for_each_index(static_cast<std::size_t>(plan_.chunks_per_band()), [&](std::size_t i) {
    if (failed.load(std::memory_order_relaxed)) return;
    const auto one = [&]() -> Status {
      H5_ASSIGN(const ChunkRecord record, store_.find(first + i));
      ScratchPool::Lease scratch(ScratchPool::shared());
      const MutableByteSpan plain = scratch->plain(static_cast<std::size_t>(plan_.chunk_bytes()));
      H5_TRY(store_.decode(first + i, record, plain, *scratch));
      return write_all(band.fd, plain, i * plan_.chunk_bytes());
    };
    Status done = one();
    if (done) return;
    const std::lock_guard lock(mutex);
    if (!failed.exchange(true)) failure = std::move(done);
  });
  return failure;
}

Status BandScratch::gather(const Band& band, std::uint64_t first_row, std::uint64_t rows, MutableByteSpan out) const {
  ScratchPool::Lease scratch(ScratchPool::shared());
  const std::uint64_t first_chunk = band.band * plan_.chunks_per_band();
  const MutableByteSpan part = scratch->plain(static_cast<std::size_t>(rows * chunk_row_bytes_));
  for (std::uint64_t i = 0; i < plan_.chunks_per_band(); ++i) {
    H5_TRY(read_all(band.fd, part, i * plan_.chunk_bytes() + first_row * chunk_row_bytes_));
    plan_.for_each_run(first_chunk + i, {first_row, rows}, [&](std::uint64_t from, std::uint64_t to, std::uint64_t n) {
      std::memcpy(out.data() + to, part.data() + (from - first_row * chunk_row_bytes_), static_cast<std::size_t>(n));
    });
  }
  return {};
}

}  // namespace h5mount

// A regular file: this process reads it with pread; the kernel reads shared mappings of it (`mapped`).
#include <fcntl.h>
#include <linux/limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "descriptor_pool.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/hash.h"
#include "h5mount/base/long_work.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/io/read_target.h"

namespace h5mount::io {
namespace {

constexpr std::uint64_t kSmallestMapping = 1U << 20;

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kNameInterval{50};  // between two checks of which file has the name

// The length of a mapping is a power of two beyond the end of the file, so that a growing file needs a new
// mapping only each time it doubles. Older mappings are kept: spans of them may still be in use.
class Mapping {
 public:
  Mapping(const std::byte* bytes, std::uint64_t length) : bytes_(bytes), length_(length) {}
  ~Mapping() {
    if (bytes_ != nullptr) ::munmap(const_cast<std::byte*>(bytes_), length_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  const std::byte* bytes() const { return bytes_; }
  std::uint64_t length() const { return length_; }

 private:
  const std::byte* bytes_;  // null: mmap failed for this length and is not retried
  std::uint64_t length_;
};

std::uint64_t mix_text(std::uint64_t digest, std::string_view bytes) {
  return mix_bits({digest, fnv1a(bytes), bytes.size()});
}

// Digest of all extended attributes except those that the kernel derives from the bytes (IMA, EVM).
std::uint64_t xattr_digest(int fd) {
  const ssize_t length = ::flistxattr(fd, nullptr, 0);
  if (length <= 0) return 0;
  std::string names(static_cast<std::size_t>(length), '\0'), value(XATTR_SIZE_MAX, '\0');
  const ssize_t got = ::flistxattr(fd, names.data(), names.size());
  names.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  std::uint64_t digest = 1;
  for (std::size_t at = 0; at < names.size(); at += std::strlen(names.c_str() + at) + 1) {
    const char* const name = names.c_str() + at;
    if (std::string_view(name) == "security.ima" || std::string_view(name) == "security.evm") continue;
    const ssize_t bytes = ::fgetxattr(fd, name, value.data(), value.size());
    digest = mix_text(mix_text(digest, name),
                      std::string_view(value.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0))));
  }
  return digest;
}

// Whether the path denotes a descriptor of the process that uses it (/dev/stdin, /proc/self/fd/3).
bool denotes_descriptor(const std::filesystem::path& path) {
  std::error_code code;
  const auto in_proc = [](const std::filesystem::path& what) { return what.string().starts_with("/proc/"); };
  return in_proc(std::filesystem::canonical(path.parent_path(), code)) ||
         in_proc(std::filesystem::read_symlink(path, code));
}

class FileSource final : public ByteSource, private SourceState {
 public:
  FileSource(UniqueFd fd, std::string name, const struct stat& st, ReopenFile reopen)
      : descriptor_(std::move(fd), std::move(reopen)),
        name_(std::move(name)),
        size_(static_cast<std::uint64_t>(st.st_size)),
        device_(st.st_dev),
        inode_(st.st_ino) {
    // A background mount changes its directory to /, where a relative name would denote another file.
    std::error_code code;
    path_ = std::filesystem::absolute(name_, code);
    has_name_ = !denotes_descriptor(path_);
    opened_by_name_ = owner_of_name() == NameOwner::Same;
    if (const auto open = use()) inode_state_ = describe((*open)->get(), st);
  }

  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    return fill_whole(offset, out, [&](ReadTarget& to) { return fill_from(offset, to); });
  }

  Result<std::size_t> read_cached(std::uint64_t offset, MutableByteSpan out) const override {
    if (offset > static_cast<std::uint64_t>(INT64_MAX)) return std::size_t{0};
    H5_ASSIGN(const DescriptorLease open, use());
    const ::iovec to{out.data(), out.size()};
    // Not every file system knows what it would have to wait for.
    const ssize_t got = ::preadv2(open->get(), &to, 1, static_cast<off_t>(offset), RWF_NOWAIT);
    return static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  }

  std::uint64_t size() const override { return size_.load(std::memory_order_acquire); }

  SourceState& state() override { return *this; }

  bool checks_reads() const override { return false; }

  Status refresh() override {
    H5_ASSIGN(const DescriptorLease open, use());
    struct stat st = {};
    if (::fstat(open->get(), &st) != 0) return fail(io_error(errno, "asking for the size of " + name_));
    size_.store(static_cast<std::uint64_t>(st.st_size), std::memory_order_release);
    return {};
  }

  Result<SourceStamp> stamp() override {
    const auto open = use();
    if (!open && open.error().code() == ErrorCode::Stale)
      return SourceStamp{.size = size(), .replaced = true};
    if (!open) return fail(open.error());
    struct stat st = {};
    if (::fstat((*open)->get(), &st) != 0) return fail(io_error(errno, "asking for the times of " + name_));
    size_.store(static_cast<std::uint64_t>(st.st_size), std::memory_order_release);
    const InodeState state = inode_state((*open)->get(), st);
    const std::int64_t modified = nanoseconds(st.st_mtim);
    return SourceStamp{.size = size(),
                       .modified = modified,
                       .sum = mix_bits({device_, inode_}) + static_cast<std::uint64_t>(modified),
                       .changed = static_cast<std::uint64_t>(state.changed),
                       .attributes = state.attributes,
                       .replaced = state.replaced};
  }

  bool name_taken() const override { return owner_of_name() == NameOwner::Another; }

  // The file's name if the descriptor may be closed before the path is used.
  std::vector<std::string> watchable() const override {
    const auto open = descriptor_.stays_open() ? use() : Result<DescriptorLease>();
    return {open && *open ? "/proc/self/fd/" + std::to_string((*open)->get()) : path_.string()};
  }

  ByteSpan mapped(std::uint64_t offset, std::uint64_t length) const override {
    if (length == 0 || !range_within(offset, length, size())) return {};
    const Mapping* mapping = mapping_.load(std::memory_order_acquire);
    if (mapping == nullptr || !range_within(offset, length, mapping->length()))
      mapping = map_up_to(offset + length);
    if (mapping == nullptr || mapping->bytes() == nullptr) return {};
    return {mapping->bytes() + offset, static_cast<std::size_t>(length)};
  }

  std::string name() const override { return name_; }

 private:
  Status fill_from(std::uint64_t offset, ReadTarget& to) const {
    H5_ASSIGN(const DescriptorLease open, use());
    // A read that is interrupted every time would otherwise be repeated for ever.
    constexpr unsigned kMaxInterruptions = 1000;
    unsigned interruptions = 0;
    while (to.left() > 0) {
      // No file has bytes there, and the kernel would call the request invalid.
      if (!range_within(offset, to.left(), static_cast<std::uint64_t>(INT64_MAX))) return ends_before(offset);
      const ssize_t got = ::pread(open->get(), to.rest().data(), to.left(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR && ++interruptions < kMaxInterruptions) continue;
      if (got < 0) return fail(io_error(errno, "reading " + name_));
      if (got == 0) return ends_before(offset);
      to.filled(static_cast<std::size_t>(got));
      offset += static_cast<std::uint64_t>(got);
    }
    return {};
  }

  static std::int64_t nanoseconds(const struct timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

  enum class NameOwner : std::uint8_t { Same, Another, None };
  NameOwner owner_of_name() const {
    struct stat named = {};
    if (!has_name_ || ::stat(path_.c_str(), &named) != 0) return NameOwner::None;
    return named.st_dev == device_ && named.st_ino == inode_ ? NameOwner::Same : NameOwner::Another;
  }

  // The inode's state apart from its bytes. Every change of it changes the ctime (a rename onto the name
  // removes a link of this inode), so it is read again when the ctime has changed. A new file under a name
  // that was free, and a symlink in the name that leads elsewhere, leave this inode as it is, so the name is
  // checked at intervals as well.
  struct InodeState {
    std::int64_t changed = 0;
    std::uint64_t attributes = 0;
    bool replaced = false;
  };
  InodeState describe(int fd, const struct stat& st) const {
    const NameOwner owner = owner_of_name();
    const std::uint64_t digest =
        mix_bits({st.st_mode, st.st_nlink, std::uint64_t{st.st_uid} << 32 | st.st_gid,
                  static_cast<std::uint64_t>(owner), xattr_digest(fd)});
    return {nanoseconds(st.st_ctim), digest, opened_by_name_ && owner == NameOwner::Another};
  }
  InodeState inode_state(int fd, const struct stat& st) {
    InodeState now;
    bool same = false;
    {
      const MutexLock lock(inode_state_mutex_);
      now = inode_state_;
      same = now.changed == nanoseconds(st.st_ctim);
      if (same && (!opened_by_name_ || Clock::now() < next_name_check_)) return now;
      next_name_check_ = Clock::now() + kNameInterval;
    }
    note_long_work();  // the name may lead through a mount that this thread serves
    if (same)
      now.replaced = owner_of_name() == NameOwner::Another;
    else
      now = describe(fd, st);
    const MutexLock lock(inode_state_mutex_);
    return inode_state_ = now;
  }

  static Status ends_before(std::uint64_t offset) {
    return fail(Error(ErrorCode::Truncated, "File", "bytes", offset).with_detail("the file ends before"));
  }

  Result<DescriptorLease> use() const {
    auto open = descriptor_.use();
    if (!open) return fail(open.error().within(name_));
    return open;
  }

  // Mappings remain valid after the descriptor is closed.
  const Mapping* map_up_to(std::uint64_t end) const {
    if (end > std::uint64_t{1} << 46) return nullptr;  // more than an address space has
    const auto open = use();
    if (!open) return nullptr;
    const MutexLock lock(mutex_);
    const Mapping* last = mapping_.load(std::memory_order_relaxed);
    if (last != nullptr && end <= last->length()) return last;
    const std::uint64_t length = std::bit_ceil(std::max(std::max(end, size()), kSmallestMapping));
    void* at = ::mmap(nullptr, length, PROT_READ, MAP_SHARED | MAP_NORESERVE, (*open)->get(), 0);
    const auto* bytes = at == MAP_FAILED ? nullptr : static_cast<const std::byte*>(at);
    mappings_.push_back(std::make_unique<Mapping>(bytes, length));
    mapping_.store(mappings_.back().get(), std::memory_order_release);
    return mappings_.back().get();
  }

  const PooledDescriptor descriptor_;
  const std::string name_;
  std::filesystem::path path_;
  std::atomic<std::uint64_t> size_;
  const dev_t device_;
  const ino_t inode_;
  bool has_name_ = false;        // `path_` denotes the same file in every process
  bool opened_by_name_ = false;  // at opening, `path_` denoted this inode
  Mutex inode_state_mutex_;
  InodeState inode_state_ H5_GUARDED_BY(inode_state_mutex_);
  Clock::time_point next_name_check_ H5_GUARDED_BY(inode_state_mutex_);
  mutable std::atomic<const Mapping*> mapping_ = nullptr;
  mutable Mutex mutex_;
  mutable std::vector<std::unique_ptr<const Mapping>> mappings_ H5_GUARDED_BY(mutex_);
};

}  // namespace

Result<std::shared_ptr<ByteSource>> make_file_source(int fd, std::string name, ReopenFile reopen) {
  UniqueFd owned(fd);
  struct stat st = {};
  if (::fstat(fd, &st) != 0) return fail(io_error(errno, "looking at " + name));
  if (!S_ISREG(st.st_mode)) return fail(Error(ErrorCode::AccessDenied, name + " is not a regular file"));
  return std::make_shared<FileSource>(std::move(owned), std::move(name), st, std::move(reopen));
}

Result<std::shared_ptr<ByteSource>> open_file_source(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not block before fstat can reject it.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd >= 0) return make_file_source(fd, path);
  if (errno == ENOENT || errno == ENOTDIR) return fail(Error(ErrorCode::NotFound, "no such file: " + path));
  return fail(io_error(errno, "opening " + path));
}

}  // namespace h5mount::io

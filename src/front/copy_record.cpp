#include "copy_record.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "h5mount/base/hash.h"

namespace h5mount::front {
namespace {

constexpr std::string_view kFirstLine = "An unfinished copy by h5mount --copy: ";
constexpr std::size_t kMaxEntries = std::size_t{1} << 21;  // 64 MiB; files beyond them are written anew

bool read_all(int fd, void* to, std::size_t bytes, std::size_t offset) {
  return ::pread(fd, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

// Whether the file was written by this user as a record. A copied dataset, whose bytes anybody may have
// chosen, is never writable.
bool is_own_record(const struct stat& st) {
  return S_ISREG(st.st_mode) && st.st_uid == ::geteuid() && st.st_nlink == 1 && (st.st_mode & 0222) == 0200;
}

}  // namespace

CopyRecord::CopyRecord(const CopyDirectory& top, const std::string& identity) {
  if (identity.empty()) return;
  constexpr int kFlags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const std::string header = std::string(kFirstLine) + identity + "\n";
  fd_ = UniqueFd(::openat(top.fd(), kName, kFlags));
  if (fd_ && load(header)) return;
  // Another copy may be adding to a file of this name, so the file is not truncated but unlinked.
  ::unlinkat(top.fd(), kName, 0);
  fd_ = UniqueFd(::openat(top.fd(), kName, kFlags | O_CREAT | O_EXCL, 0600));
  if (fd_ && ::write(fd_.get(), header.data(), header.size()) != static_cast<ssize_t>(header.size()))
    fd_.reset();
}

// Returns false if the file is not the record of this copy.
bool CopyRecord::load(const std::string& header) {
  struct stat st = {};
  if (::fstat(fd_.get(), &st) != 0 || !is_own_record(st)) return false;
  const auto size = static_cast<std::size_t>(st.st_size);
  std::string begin(header.size(), '\0');
  if (size < header.size() || !read_all(fd_.get(), begin.data(), begin.size(), 0) || begin != header)
    return false;
  const std::size_t count = (size - header.size()) / sizeof(Entry);
  // A partial entry, left by a full disk or a kill, would shift the entries that follow, so it is cut off.
  if (::ftruncate(fd_.get(), static_cast<off_t>(header.size() + count * sizeof(Entry))) != 0) return false;
  entries_.resize(std::min(count, kMaxEntries));
  if (!read_all(fd_.get(), entries_.data(), entries_.size() * sizeof(Entry), header.size())) {
    entries_.clear();
    return false;
  }
  // The sort is stable, as the last of several entries with the same key counts.
  std::ranges::stable_sort(entries_, {}, &Entry::key);
  return true;
}

CopyRecord::Entry CopyRecord::entry_of(const std::string& key, const struct stat& there) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return {fnv1a(key), there.st_dev, there.st_ino, there.st_ctim.tv_sec * kSecond + there.st_ctim.tv_nsec};
}

bool CopyRecord::knows(const std::string& key, const struct stat& there) const {
  const Entry entry = entry_of(key, there);
  const auto after = std::ranges::upper_bound(entries_, entry.key, {}, &Entry::key);
  return after != entries_.begin() && *std::prev(after) == entry;
}

void CopyRecord::add(const std::string& key, const CopyDirectory& directory, const std::string& name) {
  if (!fd_) return;
  const MutexLock lock(mutex_);
  struct stat st = {};
  if (::fstatat(directory.fd(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return;
  const Entry entry = entry_of(key, st);
  // A failed write is ignored: without its entry a file is copied again.
  (void)!::write(fd_.get(), &entry, sizeof entry);
}

void CopyRecord::remove(const CopyDirectory& top) const {
  struct stat ours = {}, there = {};
  // By now the name may belong to another copy's record, or to a dataset of that name.
  if (fd_ && ::fstat(fd_.get(), &ours) == 0 && ::fstatat(top.fd(), kName, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      ours.st_ino == there.st_ino && ours.st_dev == there.st_dev)
    ::unlinkat(top.fd(), kName, 0);
}

}  // namespace h5mount::front

#include "h5mount/object/file_set.h"
#include "h5mount/base/thread_annotations.h"

#include <sys/file.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>

#include "file_access.h"
#include "h5mount/base/log.h"
#include "member_files.h"

namespace h5mount::object {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCrowd = 256;  // files with their caches

// The directory is part of the key: names in the same file denote other files where it was opened through
// another directory.
using FileKey = std::pair<FileIdentity, std::string>;

// Fails where a writer holds an exclusive lock. A lock that cannot be acquired for any other reason is no
// error. The lock is released at once: a long mount must not block writers; afterwards the superblock's
// status flags and change detection are used.
Status check_lock(int fd, const std::string& name, bool force) {
  if (force) return {};
  if (::flock(fd, LOCK_SH | LOCK_NB) == 0) {
    ::flock(fd, LOCK_UN);
    return {};
  }
  if (errno == EWOULDBLOCK)
    return fail(Error(ErrorCode::AccessDenied, name + " is locked by a writer; the option force opens it"));
  return {};
}

std::string directory_of(const std::string& path) {
  return fs::path(path).parent_path().string();
}

// The directory of a path's target where it differs from the path's own directory.
std::string target_directory_of(const std::string& path, const std::string& real_path) {
  std::string target = real_path.empty() ? std::string() : directory_of(real_path);
  return target == directory_of(path) ? std::string() : target;
}

class OpenFileSet final : public FileSet {
 public:
  OpenFileSet(const ExternalAccess& access, const metadata::MetadataOptions& options)
      : access_(std::make_shared<FileAccess>(access)), options_(options) {}

  Status open_main(const std::string& path) {
    std::error_code code;
    const fs::path absolute = fs::absolute(path, code);
    if (code) return fail(Error(ErrorCode::Io, "no current directory: " + code.message()));
    const fs::path directory = fs::canonical(absolute.parent_path(), code);
    const std::string root = (code ? absolute.parent_path() : directory).string();
    const std::string named = (fs::path(root) / absolute.filename()).string();
    First first;
    const MemberOpeners open{
        [&](const std::string& member) {
          return keep_first(access_->open_user_path(member, first ? &first->attributes : nullptr), first);
        },
        [&](const std::string& member) {
          return keep_first(access_->open_member(member, first->attributes), first);
        }};
    // Opened by the given name, not the resolved one: a symlink in it may be redirected later
    // (ByteSource::name_taken).
    H5_ASSIGN(auto source, open_named_files(absolute.string(), open));
    H5_ASSIGN(auto followed, metadata::FollowedFile::open(std::move(source), options_));
    main_ = std::make_shared<OpenedFile>(
        OpenedFile{std::move(followed), named, root, first->target_directory, first->attributes});
    const MutexLock lock(mutex_);
    opened_[{first->identity, root}] = main_;
    return {};
  }

  Status open_main(std::shared_ptr<io::ByteSource> source) {
    H5_ASSIGN(auto followed, metadata::FollowedFile::open(std::move(source), options_));
    main_ = std::make_shared<OpenedFile>(OpenedFile{std::move(followed), {}, {}, {}, {}});
    return {};
  }

  const OpenedFilePtr& main() const override { return main_; }

  const ExternalAccess& access() const override { return access_->options(); }

  Result<OpenedFilePtr> open_hdf5(const OpenedFilePtr& from, std::string_view name, NameUse use) override {
    if (name == "." || name.empty()) return from;
    H5_ASSIGN(FoundFile found, find(*from, name, use));
    const std::string directory = directory_of(found.path);
    std::error_code code;
    const fs::path one_spelling = fs::canonical(directory, code);
    const FileKey key{found.identity, code ? directory : one_spelling.string()};
    if (auto known = already_open(key)) return known;
    const std::string path = found.path, target_directory = target_directory_of(path, found.real_path);
    const FileAttributes attributes = found.attributes;
    H5_ASSIGN(auto source, locked_source(std::move(found)));
    H5_ASSIGN(auto followed, metadata::FollowedFile::open(std::move(source), options_));
    return remember(key, std::make_shared<OpenedFile>(
                             OpenedFile{std::move(followed), path, directory, target_directory, attributes}));
  }

  Result<std::shared_ptr<io::ByteSource>> open_raw(const OpenedFilePtr& from,
                                                   std::string_view name) override {
    H5_ASSIGN(FoundFile found, find(*from, name, NameUse::RawData));
    return io::make_file_source(found.fd.release(), found.path, std::move(found.reopen));
  }

  std::vector<OpenedFilePtr> open_files() const override {
    std::vector<OpenedFilePtr> out{main_};
    const MutexLock lock(mutex_);
    for (const auto& [identity, file] : opened_)
      if (OpenedFilePtr open = file.lock(); open && open != main_) out.push_back(std::move(open));
    return out;
  }

  bool follows() const override {
    if (main_->followed->following()) return true;
    if (opened_count_ == 0) return false;
    // Called for every reply, so the answer is cached; files are checked for changes no more often than that.
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    if (now < follows_expires_.load(std::memory_order_acquire))
      return follows_.load(std::memory_order_relaxed);
    const bool any =
        std::ranges::any_of(open_files(), [](const auto& file) { return file->followed->following(); });
    follows_.store(any, std::memory_order_relaxed);
    follows_expires_.store(now + std::chrono::nanoseconds(options_.revalidate_interval).count(),
                           std::memory_order_release);
    return any;
  }

  bool crowded() const override { return opened_count_ > kCrowd; }

  void when_opened(std::function<void()> callback) override {
    const MutexLock lock(on_opened_mutex_);
    on_opened_ = std::move(callback);
  }

 private:
  struct FirstMember {
    FileIdentity identity;
    FileAttributes attributes;
    std::string target_directory;
  };
  using First = std::optional<FirstMember>;

  // The attributes of a set are those of its first member, whose descriptor stays open.
  Result<std::shared_ptr<io::ByteSource>> keep_first(Result<FoundFile> found, First& first) const {
    if (!found) return fail(found.error());
    if (!first) {
      first =
          FirstMember{found->identity, found->attributes, target_directory_of(found->path, found->real_path)};
      access_->allow_own_directories({directory_of(found->path), first->target_directory});
      found->reopen = nullptr;
    }
    return locked_source(*std::move(found));
  }

  Result<std::shared_ptr<io::ByteSource>> locked_source(FoundFile found) const {
    H5_TRY(check_lock(found.fd.get(), found.path, options_.force));
    return io::make_file_source(found.fd.release(), found.path, std::move(found.reopen));
  }

  Result<FoundFile> find(const OpenedFile& from, std::string_view name, NameUse use) const {
    H5_ASSIGN(FoundFile found,
              access_->open_named({from.directory, from.target_directory}, std::string(name), use));
    const bool shown_as_itself = use == NameUse::Link || !access_->options().for_others;
    if (shown_as_itself || readable_by_all_readers(from.attributes, found.attributes)) return found;
    return fail(Error(ErrorCode::AccessDenied,
                      found.path + " has fewer readers than " + from.path + ", which other users may read"));
  }

  OpenedFilePtr already_open(const FileKey& key) const {
    const MutexLock lock(mutex_);
    const auto found = opened_.find(key);
    return found == opened_.end() ? nullptr : found->second.lock();
  }

  // Where two threads opened the same file concurrently, both use the one registered first.
  OpenedFilePtr remember(const FileKey& key, OpenedFilePtr file) {
    {
      const MutexLock lock(mutex_);
      if (opened_.size() >= sweep_at_) {
        std::erase_if(opened_, [](const auto& entry) { return entry.second.expired(); });
        sweep_at_ = std::max(kCrowd, 2 * opened_.size());
      }
      auto& kept = opened_[key];
      if (auto earlier = kept.lock()) return earlier;
      kept = file;
      opened_count_ = opened_.size();
      follows_expires_ = 0;
    }
    const MutexLock lock(on_opened_mutex_);
    if (on_opened_) on_opened_();
    return file;
  }

  const std::shared_ptr<FileAccess> access_;
  const metadata::MetadataOptions options_;
  OpenedFilePtr main_;
  std::atomic<std::size_t> opened_count_ = 0;  // files opened by name so far
  Mutex on_opened_mutex_;
  std::function<void()> on_opened_ H5_GUARDED_BY(on_opened_mutex_);
  mutable std::atomic<bool> follows_ = false;
  mutable std::atomic<std::int64_t> follows_expires_ =
      0;  // steady clock; time after which `follows_` is recomputed
  mutable Mutex mutex_;
  // The number of entries at which those of closed files are removed.
  std::size_t sweep_at_ H5_GUARDED_BY(mutex_) = kCrowd;
  std::map<FileKey, std::weak_ptr<const OpenedFile>> opened_ H5_GUARDED_BY(mutex_);
};

}  // namespace

Result<std::shared_ptr<FileSet>> FileSet::open(const std::string& path, const ExternalAccess& access,
                                               const metadata::MetadataOptions& options) {
  auto set = std::make_shared<OpenFileSet>(access, options);
  if (path.empty()) return fail(Error(ErrorCode::NotFound, "no file is named"));
  H5_TRY(set->open_main(path));
  return set;
}

Result<std::shared_ptr<FileSet>> FileSet::open(std::shared_ptr<io::ByteSource> source,
                                               const metadata::MetadataOptions& options) {
  auto set = std::make_shared<OpenFileSet>(ExternalPolicy::None, options);
  H5_TRY(set->open_main(std::move(source)));
  return set;
}

}  // namespace h5mount::object

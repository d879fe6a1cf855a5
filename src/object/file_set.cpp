#include "h5mount/object/file_set.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>

#include "confined_open.h"
#include "member_files.h"

namespace h5mount {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCrowd = 256;  // of the thousand descriptors that a process may usually have

using FileIdentity = std::pair<dev_t, ino_t>;

struct OpenDescriptor {
  int fd = -1;
  FileIdentity identity{};
  std::string path;  // for messages and for what the file names
};

// A writer that holds the file exclusively is told; a lock that cannot be had for any other reason is no error. It is
// let go at once: a mount that lives for weeks must not keep writers out, and status flags and the watch for changes
// are what it goes by afterwards.
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

class OpenFileSet final : public FileSet {
 public:
  OpenFileSet(ExternalPolicy policy, const MetadataOptions& options) : policy_(policy), options_(options) {}

  Status open_main(const std::string& path) {
    std::error_code code;
    const fs::path absolute = fs::absolute(path, code);
    if (code) return fail(Error(ErrorCode::Io, "no current directory: " + code.message()));
    std::optional<FileIdentity> identity;
    H5_ASSIGN(auto source, open_named_files(path, [&](const std::string& member) { return open_member(member, identity); }));
    H5_ASSIGN(auto metadata, FileMetadata::open(std::move(source), options_));
    const fs::path directory = fs::canonical(absolute.parent_path(), code);
    root_ = code ? absolute.parent_path() : directory;
    main_ = std::make_shared<OpenedFile>(OpenedFile{std::move(metadata), root_ / absolute.filename(), root_});
    if (identity) opened_[*identity] = main_;
    if (policy_ != ExternalPolicy::Beneath) return {};
    // Without it nothing else can be opened, which is told then; the file itself can be read.
    if (auto beneath = ConfinedDirectory::open(root_)) beneath_ = *std::move(beneath);
    return {};
  }

  Status open_main(std::shared_ptr<ByteSource> source) {
    H5_ASSIGN(auto metadata, FileMetadata::open(std::move(source), options_));
    main_ = std::make_shared<OpenedFile>(OpenedFile{std::move(metadata), {}, {}});
    return {};
  }

  const OpenedFilePtr& main() const override { return main_; }

  Result<OpenedFilePtr> open_hdf5(const OpenedFilePtr& from, std::string_view name) override {
    if (name == "." || name.empty()) return from;
    H5_ASSIGN(OpenDescriptor found, open_name(*from, std::string(name)));
    if (auto known = already_open(found.identity)) {
      ::close(found.fd);
      return known;
    }
    if (auto locked = check_lock(found.fd, found.path, options_.force); !locked) {
      ::close(found.fd);
      return fail(locked.error());
    }
    H5_ASSIGN(auto source, make_file_source(found.fd, found.path));
    H5_ASSIGN(auto metadata, FileMetadata::open(std::move(source), options_));
    const std::string directory = fs::path(found.path).parent_path();
    return remember(found.identity, std::make_shared<OpenedFile>(OpenedFile{std::move(metadata), found.path, directory}));
  }

  Result<std::shared_ptr<ByteSource>> open_raw(const OpenedFilePtr& from, std::string_view name) override {
    H5_ASSIGN(OpenDescriptor found, open_name(*from, std::string(name)));
    return make_file_source(found.fd, found.path);
  }

  std::vector<OpenedFilePtr> open_files() const override {
    std::vector<OpenedFilePtr> out{main_};
    const std::lock_guard lock(mutex_);
    for (const auto& [identity, file] : opened_)
      if (OpenedFilePtr open = file.lock(); open && open != main_) out.push_back(std::move(open));
    return out;
  }

  bool follows() const override {
    if (main_->metadata->following()) return true;
    if (opened_count_ == 0) return false;
    return std::ranges::any_of(open_files(), [](const auto& file) { return file->metadata->following(); });
  }

  bool crowded() const override { return opened_count_ > kCrowd; }

  void when_opened(std::function<void()> told) override {
    const std::lock_guard lock(told_mutex_);
    told_ = std::move(told);
  }

 private:
  // The user's own names: wherever they lead. The first member's identity is the set's.
  Result<std::shared_ptr<ByteSource>> open_member(const std::string& path, std::optional<FileIdentity>& identity) const {
    H5_ASSIGN(const int fd, open_anywhere(path));
    struct stat st = {};
    if (::fstat(fd, &st) == 0 && !identity) identity = FileIdentity{st.st_dev, st.st_ino};
    if (auto locked = check_lock(fd, path, options_.force); !locked) {
      ::close(fd);
      return fail(locked.error());
    }
    return make_file_source(fd, path);
  }

  // As libhdf5: an absolute name as it is and then by its last component beside the naming file; a relative one
  // beside the naming file.
  Result<OpenDescriptor> open_name(const OpenedFile& from, const std::string& name) const {
    if (name.find('\0') != std::string::npos) return fail(Error(ErrorCode::NotFound, "a file name with a NUL byte"));
    if (policy_ == ExternalPolicy::None) return fail(Error(ErrorCode::AccessDenied, "external=none: " + name + " is not opened"));
    if (from.directory.empty()) return fail(Error(ErrorCode::AccessDenied, "no directory to look for " + name + " in"));
    const fs::path wanted(name);
    if (wanted.is_relative()) return open_path(fs::path(from.directory) / wanted);
    auto as_named = open_path(wanted);
    if (as_named) return as_named;
    auto beside = open_path(fs::path(from.directory) / wanted.filename());
    return beside ? std::move(beside) : std::move(as_named);
  }

  Result<OpenDescriptor> open_path(const fs::path& path) const {
    OpenDescriptor found{.path = path.lexically_normal().string()};
    if (policy_ == ExternalPolicy::Any) {
      H5_ASSIGN(found.fd, open_anywhere(path));
    } else {
      // Not normalised: a ".." behind a symlink is for the kernel to resolve.
      const auto part = std::mismatch(root_.begin(), root_.end(), path.begin(), path.end());
      if (part.first != root_.end()) return fail(outside(path));
      fs::path relative;
      for (auto at = part.second; at != path.end(); ++at) relative /= *at;
      H5_ASSIGN(found.fd, beneath_.open_file(relative.empty() ? "." : relative.string()));
    }
    struct stat st = {};
    if (::fstat(found.fd, &st) != 0 || !S_ISREG(st.st_mode)) {
      ::close(found.fd);
      return fail(Error(ErrorCode::AccessDenied, found.path + " is not a regular file"));
    }
    found.identity = {st.st_dev, st.st_ino};
    return found;
  }

  static Error outside(const fs::path& path) {
    return Error(ErrorCode::AccessDenied, path.string() + " is not beneath the mounted file's directory");
  }

  OpenedFilePtr already_open(const FileIdentity& identity) const {
    const std::lock_guard lock(mutex_);
    const auto found = opened_.find(identity);
    return found == opened_.end() ? nullptr : found->second.lock();
  }

  // Two who opened the same file at once share the first one's.
  OpenedFilePtr remember(const FileIdentity& identity, OpenedFilePtr file) {
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(opened_, [](const auto& entry) { return entry.second.expired(); });
      auto& kept = opened_[identity];
      if (auto earlier = kept.lock()) return earlier;
      kept = file;
      opened_count_ = opened_.size();
    }
    const std::lock_guard lock(told_mutex_);
    if (told_) told_();
    return file;
  }

  const ExternalPolicy policy_;
  const MetadataOptions options_;
  fs::path root_;
  ConfinedDirectory beneath_;
  OpenedFilePtr main_;
  std::atomic<std::size_t> opened_count_ = 0;  // when one was last opened by name
  std::mutex told_mutex_;
  std::function<void()> told_;  // guarded by told_mutex_
  mutable std::mutex mutex_;
  std::map<FileIdentity, std::weak_ptr<const OpenedFile>> opened_;
};

}  // namespace

Result<std::shared_ptr<FileSet>> FileSet::open(const std::string& path, ExternalPolicy policy,
                                               const MetadataOptions& options) {
  auto set = std::make_shared<OpenFileSet>(policy, options);
  if (path.empty()) return fail(Error(ErrorCode::NotFound, "no file is named"));
  H5_TRY(set->open_main(path));
  return set;
}

Result<std::shared_ptr<FileSet>> FileSet::open(std::shared_ptr<ByteSource> source, const MetadataOptions& options) {
  auto set = std::make_shared<OpenFileSet>(ExternalPolicy::None, options);
  H5_TRY(set->open_main(std::move(source)));
  return set;
}

}  // namespace h5mount

#include "h5mount/front/copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <optional>
#include <unordered_map>

#include "copy_file.h"
#include "copy_record.h"
#include "file_reader.h"
#include "h5mount/base/job_queue.h"
#include "h5mount/base/log.h"
#include "h5mount/base/thread.h"
#include "h5mount/base/thread_annotations.h"
#include "tree_walk.h"
#include "xattrs.h"

namespace h5mount::front {
namespace {

constexpr std::size_t kMaxExtents = std::size_t{1} << 20;  // of one file
constexpr std::size_t kMaxQueued = 64;  // files to be copied; each holds its directory open

// The first copy of a file with several names, to which the others are linked.
struct FirstCopy {
  std::string path;  // below the top directory; empty if it could not be copied
  FileIdentity file;
};

// The first copies of all files with several names. Threads: any.
class FirstCopies {
 public:
  // Returns nullopt if this is the first name; the caller must then call `settle` for it. Else waits for the
  // first copy.
  std::optional<FirstCopy> claim(std::uint64_t ino) {
    MutexLock lock(mutex_);
    const auto [place, first] = copies_.try_emplace(ino);
    if (first) return std::nullopt;
    const std::optional<FirstCopy>& copy = place->second;  // the reference stays valid when others are added
    while (!copy) settled_.wait(lock);
    return copy;
  }

  void settle(std::uint64_t ino, FirstCopy copy) {
    const MutexLock lock(mutex_);
    copies_[ino] = std::move(copy);
    settled_.notify_all();
  }

 private:
  Mutex mutex_;
  Condition settled_;
  std::unordered_map<std::uint64_t, std::optional<FirstCopy>> copies_ H5_GUARDED_BY(mutex_);
};

struct SettleAtEnd {
  FirstCopies& copies;
  std::uint64_t ino;
  FirstCopy copy;
  ~SettleAtEnd() { copies.settle(ino, std::move(copy)); }
};

// A file or symlink to be copied by a job.
struct Work {
  FoundNode found;
  CopyDirectoryPtr directory;
  std::string name;
  std::string below;  // its path below the top directory
};

class Copy : public Visitor {
 public:
  Copy(const std::shared_ptr<tree::Tree>& tree, const CopyOptions& options, const FailureHandler& failed)
      : tree_(tree), options_(options), failed_([this, &failed](std::string_view path, const Error& error) {
          const MutexLock lock(mutex_);
          failed(path, error);
        }) {}

  Status run(FoundNode start) {
    start_length_ = start.path.empty() ? 0 : start.path.size() + 1;
    if (start.stat.type != tree::NodeType::Directory) {
      if (const Status opened = open_top(start.path); !opened) return fail(of_destination(opened.error()));
    }
    Status walked;
    {
      JobQueue jobs({.name = "h5-copy", .threads = std::max(options_.threads, 1U), .limit = kMaxQueued});
      jobs_ = &jobs;
      walked = walk(tree_, std::move(start), *this, failed_);
      jobs.drain();
    }
    directories_.clear();
    tell_refused_all();
    const MutexLock lock(mutex_);
    if (record_ && !ended_ && walked) record_->remove(*top_);
    return ended_ ? Status(fail(*ended_)) : walked;
  }

  Result<bool> visit(FoundNode& found) override {
    H5_TRY(check_stop());
    if (found.stat.type == tree::NodeType::Directory) return enter(found);
    const std::string name = name_of(found);
    std::string below = directories_.empty() ? name : found.path.substr(start_length_);
    const auto work = std::make_shared<Work>(
        Work{std::move(found), directories_.empty() ? top_ : directories_.back(), name, std::move(below)});
    jobs_->submit([this, work] { copy_one(*work); });
    return true;
  }

  Status leave(const FoundNode&) override {
    directories_.pop_back();
    return {};
  }

 private:
  // Opens the directory into which a single file is copied, and determines the file's name there.
  Status open_top(const std::string& path) {
    const std::string& place = options_.destination;
    struct stat there = {};
    const bool into = ::stat(place.c_str(), &there) == 0 && S_ISDIR(there.st_mode);
    const std::size_t end = place.rfind('/');
    top_name_ = into ? path.substr(path.rfind('/') + 1) : place.substr(end + 1);
    H5_ASSIGN(top_, CopyDirectory::open(into                       ? place
                                        : end == std::string::npos ? "."
                                                                   : place.substr(0, end + 1)));
    return top_->remove_leftovers(top_name_);
  }

  std::string name_of(const FoundNode& found) const {
    return directories_.empty() ? top_name_ : found.path.substr(found.path.rfind('/') + 1);
  }

  Result<bool> enter(const FoundNode& found) {
    auto made = directories_.empty() ? CopyDirectory::make_top(options_.destination, found.stat)
                                     : CopyDirectory::make(directories_.back(), name_of(found), found.stat);
    if (!made) {
      if (!top_ || is_full(made.error())) return fail(of_destination(made.error()));
      failed_(found.path, made.error());
      return false;
    }
    if (!top_) {
      top_ = *made;
      record_.emplace(*top_, options_.source_version.empty() ? std::string()
                                                             : options_.source_version + " /" + found.path);
    }
    tell_refused(found.path, set_xattrs((*made)->fd(), read_xattrs(*tree_, found, failed_)));
    directories_.push_back(*std::move(made));
    return true;
  }

  void copy_one(const Work& work) {
    if (!check_stop()) return;
    Status done;
    try {
      done = work.found.stat.type == tree::NodeType::Symlink ? copy_link(work) : copy_file(work);
    } catch (const std::exception& exception) {
      done = fail(Error(ErrorCode::Internal, exception.what()));
    }
    if (done) {
      add_progress(1, 0, 0);
    } else if (is_full(done.error())) {
      end(of_destination(done.error().within("/" + work.found.path)));
    } else if (check_stop()) {
      failed_(work.found.path, done.error());
    }
  }

  Status copy_link(const Work& work) {
    H5_ASSIGN(const std::string target, tree_->readlink(work.found.node.id()));
    return copy_symlink(*work.directory, work.name, target, work.found.stat);
  }

  Status copy_file(const Work& work) {
    if (work.found.stat.nlink <= 1) {
      H5_TRY(copy_content(work, work.below));
      return {};
    }
    const std::uint64_t ino = work.found.stat.ino;
    // Each further link changes the status by which the record identifies the file, so all names have one
    // key, under which it is recorded again after each link.
    const std::string key = fmt::format("//{}", ino);
    if (const auto first = first_copies_.claim(ino); first && !first->path.empty()) {
      const Status linked = link_file(*top_, first->path, first->file, *work.directory, work.name);
      if (linked) add_progress(0, work.found.stat.size, 0);
      if (linked) note_whole(work, key);
      if (linked || !takes_no_link(linked.error())) return linked;
    }
    SettleAtEnd end{first_copies_, ino, {}};
    H5_ASSIGN(const FileIdentity file, copy_content(work, key));
    end.copy = {work.below, file};
    return {};
  }

  // `key`: that of the file in the record.
  Result<FileIdentity> copy_content(const Work& work, const std::string& key) {
    tree::NodeStat stat = work.found.stat;
    if (!stat.complete) {
      H5_ASSIGN(stat, tree_->stat(work.found.node.id(), tree::StatDepth::Size));
    }
    struct stat there = {};
    if (record_ && ::fstatat(work.directory->fd(), work.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(there.st_mode) && record_->knows(key, there)) {
      add_progress(0, stat.size, stat.size);
      return identity_of(there);
    }
    H5_ASSIGN(FileReader reader, FileReader::open(tree_, work.found.node.id()));
    H5_ASSIGN(TemporaryFile file, TemporaryFile::make(work.directory, work.name));
    H5_TRY(write_content(reader, file));
    tell_refused(work.found.path, set_xattrs(file.fd(), read_xattrs(*tree_, work.found, failed_)));
    H5_TRY(set_status(file.fd(), stat));
    H5_TRY(check_stop());
    if (::fstat(file.fd(), &there) != 0) return fail(io_error(errno, "cannot be written"));
    H5_TRY(file.rename_to(work.name));
    note_whole(work, key);
    return identity_of(there);
  }

  // Records a complete file. Data that come from other files may change while this file does not, so they are
  // not recorded but copied again.
  void note_whole(const Work& work, const std::string& key) {
    RequestBudget budget;
    if (record_ && !options_.source_version.empty() &&
        tree::shows_own_file_alone(*tree_, work.found.node.id(), budget))
      record_->add(key, *work.directory, work.name);
  }

  Status write_content(FileReader& reader, TemporaryFile& file) {
    H5_ASSIGN(const auto extents, reader.data_extents(kMaxExtents));
    add_progress(0, reader.size() - total_bytes(extents), 0);
    if (::ftruncate(file.fd(), static_cast<off_t>(reader.size())) != 0)
      return fail(io_error(errno, "cannot be given its size"));
    const auto take = [&](const dataset::Pieces& pieces, std::uint64_t offset) -> Status {
      H5_TRY(check_stop());
      add_progress(0, pieces.total(), 0);
      return file.write(pieces, offset);
    };
    for (const dataset::ByteRange& extent : extents) H5_TRY(reader.read(extent.begin, extent.end, take));
    return {};
  }

  // ---- shared by all threads

  // Some file systems have no hard links, and each has a maximum number per file: 65,000 on ext4. Further
  // names are then linked to another copy, as they also are if the first one is not found any more.
  static bool takes_no_link(const Error& error) {
    const int reason = error.errno_value();
    return reason == EMLINK || reason == EPERM || reason == EOPNOTSUPP || reason == ENOENT ||
           reason == ENOTDIR || reason == ELOOP || reason == ESTALE;
  }

  Error of_destination(const Error& error) const {
    return {error.code(), fmt::format("{}: {}", options_.destination, error.text())};
  }

  static bool is_full(const Error& error) {
    const int reason = error.code() == ErrorCode::Io ? error.errno_value() : 0;
    return reason == ENOSPC || reason == EDQUOT || reason == EROFS;
  }

  Status check_stop() {
    const MutexLock lock(mutex_);
    if (!ended_ && options_.stop != nullptr && options_.stop->load())
      ended_ = Error(ErrorCode::Interrupted, "interrupted; the same command continues it");
    return ended_ ? Status(fail(*ended_)) : Status();
  }

  void end(const Error& why) {
    const MutexLock lock(mutex_);
    if (!ended_) ended_ = why;
  }

  // Names what the file system did not take: in several lines, as a line of the log has a bound. One that
  // takes nothing is told once, at the end.
  void tell_refused(const std::string& path, const RefusedXattrs& refused) {
    constexpr std::size_t kMostBytes = 2048;
    if (refused.takes_none) {
      const MutexLock lock(mutex_);
      if (refused_xattrs_ == 0) refused_path_ = path;
      refused_xattrs_ += refused.names.size();
      return;
    }
    std::string names;
    for (std::size_t i = 0; i < refused.names.size(); ++i) {
      names.append(names.empty() ? "" : ", ").append(escape_for_log(refused.names[i]));
      if (i + 1 < refused.names.size() && names.size() < kMostBytes) continue;
      failed_(path, {ErrorCode::TooLarge,
                     fmt::format("the file system does not take these of its {} attributes more: {}",
                                 refused.names.size(), names)});
      names.clear();
    }
  }

  void tell_refused_all() {
    std::string path;
    std::size_t count = 0;
    {
      const MutexLock lock(mutex_);
      count = refused_xattrs_;
      path = refused_path_;
    }
    if (count > 0)
      failed_(path,
              {ErrorCode::UnsupportedFeature,
               fmt::format("the file system of {} keeps no extended attributes: {} are not in the copy, "
                           "the first of them of /{}",
                           options_.destination, count, path)});
  }

  void add_progress(std::uint64_t files, std::uint64_t bytes, std::uint64_t kept) {
    if (options_.progress == nullptr) return;
    options_.progress->files += files;
    options_.progress->bytes += bytes;
    options_.progress->kept_bytes += kept;
  }

  const std::shared_ptr<tree::Tree>& tree_;
  const CopyOptions& options_;
  const FailureHandler failed_;  // one at a time
  JobQueue* jobs_ = nullptr;
  CopyDirectoryPtr top_;                       // the directory from which `below` of each job is counted
  std::string top_name_;                       // of the start, in `top_`
  std::size_t start_length_ = 0;               // of the start's path and its `/`
  std::vector<CopyDirectoryPtr> directories_;  // those being walked
  std::optional<CopyRecord> record_;           // none: the copy is one file
  FirstCopies first_copies_;
  Mutex mutex_;
  std::optional<Error> ended_ H5_GUARDED_BY(mutex_);  // why nothing more is copied
  std::size_t refused_xattrs_ H5_GUARDED_BY(mutex_) = 0;
  std::string refused_path_ H5_GUARDED_BY(mutex_);
};

// Adds up the files and bytes to be copied.
class Count : public Visitor {
 public:
  Count(const std::atomic<bool>& done, CopyProgress& progress) : done_(done), progress_(progress) {}

  Result<bool> visit(FoundNode& found) override {
    if (done_) return fail(Error(ErrorCode::Stale, "nobody needs the count any more"));
    if (found.stat.type == tree::NodeType::Directory) return true;
    progress_.all_files += 1;
    if (found.stat.type == tree::NodeType::File) progress_.all_bytes += found.stat.size;
    return true;
  }

 private:
  const std::atomic<bool>& done_;
  CopyProgress& progress_;
};

// Counts in a thread of its own while the copy runs.
class CountThread {
 public:
  CountThread(const std::shared_ptr<tree::Tree>& tree, const CopyOptions& options) {
    if (options.progress == nullptr) return;
    thread_ = start_thread("h5-count", [this, tree, path = options.path, progress = options.progress] {
      Count count(done_, *progress);
      auto start = find_path(tree, path, LastLink::Keep);
      // Errors are reported by the copy itself.
      if (start && walk(tree, *std::move(start), count, [](std::string_view, const Error&) {}))
        progress->counted = true;
    });
  }
  ~CountThread() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

}  // namespace

Status copy(const std::shared_ptr<tree::Tree>& tree, const CopyOptions& options,
            const FailureHandler& failed) {
  H5_ASSIGN(FoundNode start, find_path(tree, options.path, LastLink::Keep));
  const CountThread counting(tree, options);
  return Copy(tree, options, failed).run(std::move(start));
}

}  // namespace h5mount::front

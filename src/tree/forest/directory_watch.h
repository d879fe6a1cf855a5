// DirectoryWatch: inotify on the directories of a forest that somebody has looked at. If the system gives no
// more watches, those of the directories that were looked at longest ago are given up; these directories are
// then looked at when they are used. Threads: any; `changed` and `given_up` are called by the watch's own
// thread and by the thread that adds a directory, without a lock.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "h5mount/base/unique_fd.h"
#include "place_table.h"

namespace h5mount::tree {

class DirectoryWatch {
 public:
  struct Handler {
    // A name in the directory may lead to something else now (`structure`), or the file that it leads to was
    // written or got other attributes. An empty name stands for any name. Called twice for each event, the
    // second time a second later: a request that was under way may have answered with the state before the
    // change.
    std::function<void(const FolderPtr& folder, const std::string& name, bool structure)> changed;
    // From now on no changes to the directory are reported.
    std::function<void(const FolderPtr& folder)> given_up;
  };

  explicit DirectoryWatch(Handler handler) : handler_(std::move(handler)) {}
  ~DirectoryWatch() { stop(); }

  // Nothing is watched before `start` or after `stop`, both of which one thread calls.
  void start();
  void stop();

  // Makes sure that the directory is watched if it can be (Folder::watched). To be called before it is looked
  // at.
  void check(const FolderPtr& folder);
  std::size_t count() const;

 private:
  using Folders = std::vector<std::weak_ptr<Folder>>;  // one place after the other may be the same directory
  struct Change {
    FolderPtr folder;
    std::string name;
    bool structure = false;
  };
  using Changes = std::unordered_map<std::string, Change>;

  void add(const FolderPtr& folder);
  bool give_some_up();
  void sweep() H5_REQUIRES(mutex_);
  void run();
  void take_events(Changes& changes);
  void take(int watch, std::uint32_t what, const std::string& name, Changes& changes);
  void tell(const Changes& changes) const;

  const Handler handler_;
  UniqueFd events_, stop_;
  std::atomic<std::uint64_t> now_ = 1;  // counts looks
  mutable Mutex mutex_;
  std::unordered_map<int, Folders> watches_ H5_GUARDED_BY(mutex_);
  std::size_t sweep_at_ H5_GUARDED_BY(mutex_) = 1024;
  bool said_ H5_GUARDED_BY(mutex_) = false;  // that the system gives no more watches
  std::atomic<bool> running_ = false;
  std::thread thread_;
};

}  // namespace h5mount::tree

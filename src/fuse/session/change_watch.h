// ChangeWatch: a thread that sleeps until the HDF5 file, or an open file that it names, is written (inotify),
// and then calls Tree::file_changed, at most twice a second. So changes are detected even while the kernel
// answers all requests from its cache. No event tells that another file has got a name that became free:
// while a name is missing the tree is asked once a second. Without inotify (a network file system, written
// elsewhere) a change is detected at the next request that reaches the tree.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "h5mount/base/unique_fd.h"
#include "h5mount/tree/tree.h"

namespace h5mount::fuse {

class ChangeWatch {
 public:
  explicit ChangeWatch(std::shared_ptr<tree::Tree> tree);
  ~ChangeWatch();

  // Whether changes to the files that the tree named at the beginning are reported.
  bool watches() const { return thread_.joinable() && all_watched_; }

 private:
  void run();
  bool stopped_within(int milliseconds) const;
  bool drain() const;
  bool watch_all();
  bool name_missing() const;

  std::shared_ptr<tree::Tree> tree_;
  UniqueFd events_, stop_;
  UniqueFd more_;  // eventfd: there are more files to watch
  std::set<int> watched_;
  std::map<std::string, std::string> names_;  // the first names of watched files, by watched paths
  bool all_watched_ = false;                  // set before the thread starts
  std::thread thread_;
};

}  // namespace h5mount::fuse

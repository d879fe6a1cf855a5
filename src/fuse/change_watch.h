// ChangeWatch: a thread that sleeps until somebody writes the HDF5 file, or one that it names and that is
// open (inotify), and then tells the tree, twice a second at most. It is what notices a change while nobody
// asks, because the kernel answers from what it keeps. Where there is no inotify (a network file system,
// written elsewhere) a change is noticed when the tree is next asked.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "h5mount/tree/tree.h"

namespace h5mount::fuse {

class ChangeWatch {
 public:
  explicit ChangeWatch(std::shared_ptr<tree::Tree> tree);
  ~ChangeWatch();
  ChangeWatch(const ChangeWatch&) = delete;
  ChangeWatch& operator=(const ChangeWatch&) = delete;

 private:
  void run();
  bool stopped_within(int milliseconds) const;
  void drain() const;
  bool watch_all();

  std::shared_ptr<tree::Tree> tree_;
  int events_ = -1;
  int stop_ = -1;
  int more_ = -1;  // told that there is more to watch
  std::set<int> watched_;
  std::thread thread_;
};

}  // namespace h5mount::fuse

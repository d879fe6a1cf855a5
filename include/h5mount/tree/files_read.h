// FilesRead: the files that an answer was made from. What was read counts only if they have not changed
// meanwhile; if an answer has many entries, one check of each file after the last entry covers all of them.
// Threads: one.
#pragma once

#include <memory>
#include <vector>

#include "h5mount/base/error.h"

namespace h5mount::metadata {
class FollowedFile;
}

namespace h5mount::tree {

class FilesRead {
 public:
  // `file`: null if the entry was read from no file.
  void add(const std::shared_ptr<metadata::FollowedFile>& file) {
    if (file && (files_.empty() || files_.back() != file)) add_other(file);
  }
  // Fails with Stale if a file is no longer the one that was opened. A file that is followed may grow.
  Status confirm_unchanged() const;

 private:
  void add_other(const std::shared_ptr<metadata::FollowedFile>& file);

  std::vector<std::shared_ptr<metadata::FollowedFile>> files_;
};

}  // namespace h5mount::tree

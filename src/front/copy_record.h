// CopyRecord: which files of an unfinished copy are complete. It is a file in the copy's top directory from
// the copy's beginning to its end, so that the same command can go on after an interruption.
//
// A file is identified by its inode and by the time of its last change of status, which nobody can set back:
// a file that was written, replaced, linked or renamed since it was recorded is no longer known. (A mark in
// an extended attribute would be visible in the copy, and not every file system has them.) Threads: any.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "copy_directory.h"
#include "h5mount/base/thread_annotations.h"

namespace h5mount::front {

class CopyRecord {
 public:
  static constexpr const char* kName = ".h5mount-copied";

  // Continues the record in `top` if it has the same `identity`: that of the source in its present state, and
  // of the part of it that is copied. Any other record there is replaced. If no file can be made in the
  // directory, or if the identity is empty, nothing is recorded and nothing is known.
  CopyRecord(const CopyDirectory& top, const std::string& identity);

  // Whether an earlier run recorded the file with this status under `key`, and the file has not changed since
  // then.
  bool knows(const std::string& key, const struct stat& there) const;
  // Records the file `name` of `directory`, which is complete.
  void add(const std::string& key, const CopyDirectory& directory, const std::string& name);
  // The copy is finished: removes the record from `top`.
  void remove(const CopyDirectory& top) const;

 private:
  // An entry as it is stored, in this machine's byte order.
  struct Entry {
    std::uint64_t key, device, inode;
    std::int64_t changed;  // nanoseconds since 1970
    bool operator==(const Entry&) const = default;
  };
  static Entry entry_of(const std::string& key, const struct stat& there);
  bool load(const std::string& header);

  UniqueFd fd_;                 // none: nothing is recorded
  std::vector<Entry> entries_;  // of earlier runs, by their keys
  Mutex mutex_;                 // held for one entry: a later one is of a later time
};

}  // namespace h5mount::front

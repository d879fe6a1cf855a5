// CopyRecord: which files of an unfinished copy are whole. It is a file in the copy's top directory from the
// copy's beginning to its end, so that the same command can go on after an interruption.
//
// A file is known by its inode and by the time of its last change of status, which nobody can set back: what
// was written, replaced, linked or renamed since it was recorded is not known any more. Extended attributes
// would be seen in the copy, and not every file system has them. Threads: any.
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

  // Continues the record in `top` if it is of the same `identity`: of the source in its present state, and of
  // the part of it that is copied. Any other record there is replaced. Where the directory takes no file, and
  // for an empty identity, nothing is recorded and nothing is known.
  CopyRecord(const CopyDirectory& top, const std::string& identity);
  CopyRecord(const CopyRecord&) = delete;
  CopyRecord& operator=(const CopyRecord&) = delete;

  // Whether the file of this status was recorded under `key`, by an earlier run, and is what it was then.
  bool knows(const std::string& key, const struct stat& there) const;
  // Records the file `name` of `directory`, which is whole.
  void add(const std::string& key, const CopyDirectory& directory, const std::string& name);
  // The copy is finished: removes the record from `top`.
  void remove(const CopyDirectory& top) const;

 private:
  // As it is stored, in this machine's byte order.
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

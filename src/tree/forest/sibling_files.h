// SiblingFiles: the open files of a forest, for virtual datasets of other files that name them: a file that a
// tree has open is used as it is there. This object keeps no file open, so files may name each other in a
// circle. A tree of which such a source was replaced or written over gives its name up like one whose own
// file was. Threads: any; no lock is held while a file is opened.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/object/file_set.h"
#include "h5mount/tree/forest.h"

namespace h5mount::tree {

class SiblingFiles : public std::enable_shared_from_this<SiblingFiles> {
 public:
  // Wraps `files`, those of the file `name` in a directory, which were opened when it was what `entry` says.
  // If a virtual dataset in it names a source that the forest shows, that file is opened here, unless the
  // user allows no other file (ExternalPolicy::None).
  std::shared_ptr<object::FileSet> join(const ForestDirectoryPtr& in, const std::string& name,
                                        const ForestEntry& entry, std::shared_ptr<object::FileSet> files);

  struct Sibling {
    object::OpenedFilePtr file;      // null: the forest does not show it
    object::FileAttributes readers;  // who may read it, the directories above it considered
  };
  // The file that `name`, found in the file `from` of a directory, stands for.
  Result<Sibling> find(const ForestDirectory& in, const object::OpenedFile& from, std::string_view name);

 private:
  void add(std::uint64_t key, const object::OpenedFilePtr& file);
  object::OpenedFilePtr known(std::uint64_t key) const;

  mutable Mutex mutex_;
  std::size_t sweep_at_ H5_GUARDED_BY(mutex_) = 0;  // the number at which those of closed files are removed
  std::unordered_map<std::uint64_t, std::weak_ptr<const object::OpenedFile>> files_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::tree

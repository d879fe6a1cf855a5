// ExternalFiles: the files that external links name, by their names under /.h5/external. A file is opened
// when its name is looked up, and closed when the kernel knows none of its nodes any more.
//
// A name is the text in the mounted file's own links, percent-encoded. The links of an external file are
// shown with names relative to the mounted file's directory (absolute if that is impossible), so that
// every file has one path however deep the links go, and loops of files are loops of symlinks, which end. The
// file that a link names is searched for from the file that contains the link.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "served_file.h"

namespace h5mount::tree {

class ExternalFiles {
 public:
  // Records the file that a link in `from` names as `stored`, and returns its name here. If the names take
  // too much memory, those recorded least recently are dropped.
  std::string remember_link(const ServedFile& from, const std::string& stored);

  // Opens the file of a shown name. If other users read through the mount, only names that a link has shown
  // are opened. Errors: NotFound, AccessDenied, and those of opening the file.
  Result<ServedFilePtr> open(const MountContextPtr& context, std::string_view shown);

  // The shown name of a file that was opened by its name; empty if it is not remembered.
  std::string shown_name_of(const ServedFile& file) const;

  // The shown names of files that links have named or that were opened, except those that could not be
  // opened.
  std::vector<std::string> used_names() const;

 private:
  struct Known {
    std::string shown, name;
    std::weak_ptr<const object::OpenedFile> from;  // expired: the mounted file
    std::string stored;                            // the name in `from`
    bool failed = false;                           // opening it failed the last time
    std::weak_ptr<ServedFile> file;
    std::size_t bytes() const { return shown.size() + name.size() + stored.size() + sizeof(Known); }
  };
  using List = std::list<Known>;

  struct Wanted {
    std::string name, stored;
    object::OpenedFilePtr from;
    ServedFilePtr file;  // if it is already open
  };
  Result<Wanted> find(const object::FileSet& files, std::string_view shown) const;
  void add(Known known) H5_REQUIRES(mutex_);

  mutable Mutex mutex_;
  List known_ H5_GUARDED_BY(mutex_);  // most recently shown first
  std::unordered_map<std::string_view, List::iterator> by_shown_ H5_GUARDED_BY(mutex_);  // keys lie in known_
  std::size_t bytes_ H5_GUARDED_BY(mutex_) = 0;
};

}  // namespace h5mount::tree

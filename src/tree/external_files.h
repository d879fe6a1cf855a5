// ExternalFiles: the files that external links lead to, by the names under which /.h5/external shows them. A
// file is opened when its name is looked up, and closed when no node of it is known any more.
//
// A name is what the mounted file's own links say, percent-encoded. Links of an external file are shown by
// names relative to the mounted file's directory (absolute where that cannot be), so that every file has one
// place however deep the links go, and loops of files are loops of symlinks, which end. What a link names is
// looked for from the file that holds the link.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "served_file.h"

namespace h5mount::tree {

class ExternalFiles {
 public:
  // A symlink that is shown leads to `name`: the link of `from` says `stored`. The names that were shown
  // least recently are dropped where they take too much memory.
  void remember(const std::string& name, const object::OpenedFilePtr& from, const std::string& stored);

  // The file of a shown name. Where others than the mounter read, only names that a link has shown are
  // opened. NotFound, AccessDenied, and what opening it finds.
  Result<ServedFilePtr> open(const ViewContextPtr& context, std::string_view shown);

  // The shown names of files that links have named or that were opened, but for those that could not be
  // opened.
  std::vector<std::string> used_names() const;

 private:
  struct Known {
    std::string shown, name;
    std::weak_ptr<const object::OpenedFile> from;  // expired: the mounted file
    std::string stored;                            // the name in `from`
    bool failed = false;                           // could not be opened when it was last tried
    std::weak_ptr<ServedFile> file;
    std::size_t bytes() const { return shown.size() + name.size() + stored.size() + sizeof(Known); }
  };
  using List = std::list<Known>;

  struct Wanted {
    std::string name, stored;
    object::OpenedFilePtr from;
    ServedFilePtr file;  // where it is open already
  };
  Result<Wanted> find(const object::FileSet& files, std::string_view shown) const;
  void add(Known known);  // with the lock held

  mutable std::mutex mutex_;                                       // of what follows
  List known_;                                                     // most recently shown first
  std::unordered_map<std::string_view, List::iterator> by_shown_;  // keys lie in known_
  std::size_t bytes_ = 0;
};

}  // namespace h5mount::tree

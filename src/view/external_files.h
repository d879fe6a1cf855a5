// ExternalFiles: the files that external links lead to, by the names under which /.h5/external shows them. A file is
// opened when its name is looked up, and closed when no node of it is known any more.
//
// A name is what the mounted file's own links say, percent-encoded. Links of an external file are shown by names
// relative to the mounted file's directory (absolute where that cannot be), so that every file has one place however
// deep the links go, and loops of files are loops of symlinks, which end.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "file_view.h"

namespace h5mount {

class ExternalFiles {
 public:
  // A symlink says this name: one too long to be shown whole must be known again by its cut form.
  void remember(std::string_view name);

  // The file of a shown name. NotFound, AccessDenied, and what opening it finds.
  Result<FileViewPtr> open(const ViewContextPtr& context, std::string_view shown);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::string> cut_names_;
  std::unordered_map<std::string, std::weak_ptr<FileView>> files_;
};

}  // namespace h5mount

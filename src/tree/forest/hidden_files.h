// HiddenFiles: the directory .h5 of a forest's root, with the entries that belong to the mount and not to a
// file. Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue.h"
#include "h5mount/tree/tree.h"

namespace h5mount::tree {

class HiddenFiles {
 public:
  static constexpr NodeId kDirectory = 2;

  // `status` returns the text of the status; null: there is none. `catalogue` must outlive this object.
  // `joined`: null if files are not joined.
  HiddenFiles(std::function<std::string()> status, Catalogue& catalogue, const join::JoinedFilePtr& joined);

  bool has(NodeId id) const { return id >= kDirectory && id < kDirectory + 1 + files_.size(); }
  // Finds one of the directory's entries. Fails with NotFound.
  Result<NodeId> find(std::string_view name) const;
  std::shared_ptr<const DirectoryListing> list() const;
  // The stat has size and inode number; the caller adds owner, mode and time. A size that takes long is made
  // only where it is asked for itself, not in a listing.
  Result<NodeStat> stat(NodeId id, StatDepth depth, RequestBudget& budget) const;
  Result<std::shared_ptr<OpenNode>> open(NodeId id, RequestBudget& budget) const;
  // Whether it shows what is joined of all files.
  bool is_joined(NodeId id) const { return has(id) && id != kDirectory && file(id).name == "joined.h5"; }
  std::string_view media_type(NodeId id) const {
    return id == kDirectory ? kPlainBytes : file(id).media_type;
  }

 private:
  struct File {
    std::string_view name, media_type;
    std::function<Result<std::uint64_t>(StatDepth depth, RequestBudget& budget)> size;
    std::function<Result<std::shared_ptr<OpenNode>>(RequestBudget& budget)> open;
    bool changes;
  };
  const File& file(NodeId id) const { return files_[id - kDirectory - 1]; }

  const bool has_joined_;
  std::vector<File> files_;
};

}  // namespace h5mount::tree

#include "tree_walk.h"

#include <vector>

#include "h5mount/base/limits.h"

namespace h5mount::front {
namespace {

// A directory that is being walked.
struct Level {
  NodeReference node;
  tree::NodeStat stat;
  std::size_t path_bytes;  // of the walk's path
  std::shared_ptr<const tree::DirectoryListing> listing;
  std::size_t next = 0;
};

class Walk {
 public:
  Walk(const std::shared_ptr<tree::Tree>& tree, Visitor& visitor, const FailureHandler& failed)
      : tree_(tree), visitor_(visitor), failed_(failed) {}

  Status run(FoundNode start) {
    H5_TRY(visit(std::move(start)));
    while (!levels_.empty()) {
      Level& level = levels_.back();
      if (level.next < level.listing->size()) {
        H5_TRY(visit_entry(level, level.next++));
        continue;
      }
      const FoundNode left{std::move(level.node), level.stat, path_.substr(0, level.path_bytes)};
      for (const auto& [name, why] : level.listing->left_out()) failed_(joined_path(left.path, name), why);
      if (const Error* damage = level.listing->damage()) failed_(left.path, *damage);
      path_bytes_ -= level.path_bytes;
      levels_.pop_back();
      path_.resize(levels_.empty() ? 0 : levels_.back().path_bytes);
      H5_TRY(visitor_.leave(left));
    }
    return {};
  }

 private:
  Status visit(FoundNode found) {
    const bool directory = found.stat.type == tree::NodeType::Directory;
    H5_ASSIGN(const bool enter, visitor_.visit(found));
    if (!directory || !enter) return {};
    if (found.path.size() > limits::kMaxWalkedPathBytes - path_bytes_) {
      failed_(found.path, Error(ErrorCode::LimitExceeded, "directories are nested too deep to be walked"));
      return visitor_.leave(found);
    }
    auto listing = tree_->open_directory(found.node.id());
    if (!listing) {
      failed_(found.path, listing.error());
      return visitor_.leave(found);
    }
    path_bytes_ += found.path.size();
    path_ = std::move(found.path);
    levels_.push_back({std::move(found.node), found.stat, path_.size(), *std::move(listing), 0});
    return {};
  }

  Status visit_entry(const Level& level, std::size_t position) {
    std::string path = joined_path(path_, level.listing->name_at(position));
    auto entry = tree_->lookup_listed(level.node.id(), *level.listing, position);
    if (!entry) {
      failed_(path, entry.error());
      return {};
    }
    return visit({NodeReference(tree_, entry->node), entry->stat, std::move(path)});
  }

  const std::shared_ptr<tree::Tree>& tree_;
  Visitor& visitor_;
  const FailureHandler& failed_;
  std::vector<Level> levels_;
  std::string path_;  // of the last of levels_, which begins with those of the others
  // The lengths of all paths of levels_ together: each of them is copied again and again.
  std::size_t path_bytes_ = 0;
};

}  // namespace

Status walk(const std::shared_ptr<tree::Tree>& tree, FoundNode start, Visitor& visitor,
            const FailureHandler& failed) {
  return Walk(tree, visitor, failed).run(std::move(start));
}

Status walk_paths(const std::shared_ptr<tree::Tree>& tree, Paths paths, Visitor& visitor,
                  const FailureHandler& failed) {
  static const std::string kRoot = "/";
  for (const std::string& path : paths.empty() ? Paths(&kRoot, 1) : paths) {
    auto found = find_path(tree, path, LastLink::Keep);
    if (!found)
      failed(path, found.error());
    else
      H5_TRY(walk(tree, *std::move(found), visitor, failed));
  }
  return {};
}

}  // namespace h5mount::front

#include "h5mount/front/path_walk.h"

#include <fmt/format.h>

#include <vector>

#include "h5mount/base/text.h"

namespace h5mount::front {
namespace {

constexpr unsigned kMaxLinks = 40;  // as in Linux
constexpr std::size_t kMaxPending = std::size_t{1}
                                    << 16;  // names still to be looked up, those of symlink targets included

constexpr std::size_t kMaxLevels = std::size_t{1} << 16;  // of directories, whose nodes are held

class Resolver {
 public:
  Resolver(const std::shared_ptr<tree::Tree>& tree, RequestBudget& budget) : tree_(tree), budget_(budget) {}

  Result<FoundNode> resolve(std::string_view path, LastLink last) {
    H5_TRY(push(path));
    while (!pending_.empty()) {
      const std::string name = std::move(pending_.back());
      pending_.pop_back();
      H5_TRY(step(name, last == LastLink::Follow || !pending_.empty()));
    }
    if (!steps_.empty()) {
      Step& last_step = steps_.back();
      return FoundNode{std::move(last_step.node), last_step.stat, std::move(path_)};
    }
    H5_ASSIGN(const tree::NodeStat stat, tree_->stat(tree::kRootNode, tree::StatDepth::Listing, budget_));
    return FoundNode{NodeReference(), stat, {}};
  }

 private:
  // A node on the way. path_ is the path of the last step; the path of each step before it is a prefix of
  // path_.
  struct Step {
    NodeReference node;
    tree::NodeStat stat;
    std::size_t path_bytes;
  };

  // Pushes the names of a path, the first one on top; a trailing `/` becomes `.`, which only a directory has.
  Status push(std::string_view path) {
    std::vector<std::string> names;
    for (const std::string_view name : split(path, '/'))
      if (!name.empty()) names.emplace_back(name);
    if (path.ends_with('/')) names.emplace_back(".");
    if (names.size() > kMaxPending - pending_.size())
      return fail(Error(ErrorCode::LimitExceeded, "the path has too many names"));
    pending_.insert(pending_.end(), std::make_move_iterator(names.rbegin()),
                    std::make_move_iterator(names.rend()));
    return {};
  }

  Status step(const std::string& name, bool follow) {
    if (!steps_.empty() && steps_.back().stat.type != tree::NodeType::Directory)
      return fail(Error(ErrorCode::NotFound, fmt::format("/{} is not a directory", path_)));
    if (name == ".") return {};
    if (name == "..") {
      if (!steps_.empty()) steps_.pop_back();
      path_.resize(steps_.empty() ? 0 : steps_.back().path_bytes);
      return {};
    }
    if (steps_.size() == kMaxLevels) return fail(Error(ErrorCode::LimitExceeded, "the path leads too deep"));
    const tree::NodeId directory = steps_.empty() ? tree::kRootNode : steps_.back().node.id();
    auto found = tree_->lookup(directory, name, budget_);
    if (!found && found.error().code() == ErrorCode::NotFound)
      return fail(Error(ErrorCode::NotFound,
                        fmt::format("no such file or directory: /{}", joined_path(path_, name))));
    if (!found) return fail(found.error());
    NodeReference node(tree_, found->node);
    if (found->stat.type == tree::NodeType::Symlink && follow)
      return follow_link(node.id(), joined_path(path_, name));
    if (!path_.empty()) path_ += '/';
    path_ += name;
    steps_.push_back({std::move(node), found->stat, path_.size()});
    return {};
  }

  Status follow_link(tree::NodeId link, const std::string& path) {
    if (++links_ > kMaxLinks)
      return fail(Error(ErrorCode::NotFound, fmt::format("/{}: too many symlinks", path)));
    H5_ASSIGN(const std::string target, tree_->readlink(link));
    if (target.starts_with('/'))
      return fail(Error(ErrorCode::NotFound, fmt::format("/{} leads out of the tree", path)));
    return push(target);
  }

  const std::shared_ptr<tree::Tree>& tree_;
  RequestBudget& budget_;
  std::vector<std::string> pending_;  // remaining names, the next one last
  std::vector<Step> steps_;           // from below the root to the current node
  std::string path_;                  // of the current node
  unsigned links_ = 0;
};

}  // namespace

Result<FoundNode> find_path(const std::shared_ptr<tree::Tree>& tree, std::string_view path, LastLink last,
                            RequestBudget& budget) {
  return Resolver(tree, budget).resolve(path, last);
}

std::string joined_path(std::string_view directory, std::string_view name) {
  return directory.empty() ? std::string(name) : fmt::format("{}/{}", directory, name);
}

}  // namespace h5mount::front

#include "h5mount/tree/tree.h"

#include <algorithm>

#include "h5mount/metadata/followed_file.h"
#include "source_tree.h"

namespace h5mount::tree {

Status FilesRead::confirm_unchanged() const {
  for (const auto& file : files_) H5_TRY(file->confirm_unchanged());
  return {};
}

void FilesRead::add_other(const std::shared_ptr<metadata::FollowedFile>& file) {
  if (std::ranges::find(files_, file) == files_.end()) files_.push_back(file);
}

Result<Entry> Tree::lookup_listed(NodeId parent, const DirectoryListing& listing, std::size_t position) {
  RequestBudget budget;
  FilesRead read;
  H5_ASSIGN(const Entry found, lookup_listed(parent, listing, position, read, budget));
  const Status unchanged = read.confirm_unchanged();
  if (unchanged) return found;
  forget(found.node, 1);
  return fail(unchanged.error());
}

bool shows_own_file_alone(Tree& tree, NodeId node, RequestBudget& budget) {
  if (!tree.lasts(node)) return false;
  const auto sources = tree.sources_of(node, budget);
  return sources && std::ranges::all_of(
                        *sources, [](const NodeSource& source) { return source.own && source.all_in_file; });
}

Result<std::shared_ptr<SourceTree>> SourceTree::make(const dataset::ReadEnvironment& environment,
                                                     const TreeOptions& options, const SourcePlace& place) {
  return environment.files->may_be_salvaged() ? make_salvaging_tree(environment, options, place)
                                              : make_file_tree(environment, options, place);
}

Result<std::shared_ptr<Tree>> Tree::make(const dataset::ReadEnvironment& environment,
                                         const TreeOptions& options) {
  return SourceTree::make(environment, options, {});
}

}  // namespace h5mount::tree

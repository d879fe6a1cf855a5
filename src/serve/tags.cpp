#include "tags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "h5mount/front/path_walk.h"

namespace h5mount::serve {
namespace {

constexpr std::string_view kViews = ".h5/";

// Views that show no data of datasets: their names after `/.h5/`, and the last names of paths in Zarr stores.
constexpr std::array<std::string_view, 4> kMetadataViews = {"attributes/", "metadata.jsonl", "list.txt",
                                                            "README"};
constexpr std::array<std::string_view, 5> kZarrMetadata = {"/.zgroup", "/.zarray", "/.zattrs", "/.zmetadata",
                                                           "/zarr.json"};

bool shows_metadata(std::string_view view) {
  return std::ranges::any_of(kMetadataViews, [&](std::string_view name) { return view.starts_with(name); }) ||
         std::ranges::any_of(kZarrMetadata, [&](std::string_view name) { return view.ends_with(name); });
}

bool has_own_data(tree::Tree& tree, tree::NodeId node) {
  const auto layout = tree.get_xattr(node, "user.hdf5.layout");
  return layout ? *layout != "external" && *layout != "virtual"
                : layout.error().code() == ErrorCode::NotFound;
}

// The dataset that a view shows: the longest part of the path after the view's name that is one, where the
// last name may have a suffix.
std::optional<front::FoundNode> viewed_dataset(const std::shared_ptr<tree::Tree>& tree,
                                               std::string_view path) {
  path.remove_prefix(std::min(path.find('/'), path.size()));
  for (std::size_t end = 1; end < path.size();) {
    end = std::min(path.find('/', end), path.size());
    const std::string_view prefix = path.substr(1, end - 1);
    auto found = front::find_path(tree, prefix, front::LastLink::Follow);
    const std::size_t dot = prefix.rfind('.');
    if (!found && dot != std::string_view::npos && dot > prefix.rfind('/') + 1)
      found = front::find_path(tree, prefix.substr(0, dot), front::LastLink::Follow);
    if (!found) return std::nullopt;
    if (found->stat.type == tree::NodeType::File) return *std::move(found);
    ++end;
  }
  return std::nullopt;
}

bool is_of_source_alone(const Snapshot& snapshot, std::string_view path, tree::NodeId node,
                        tree::NodeType type) {
  const std::shared_ptr<tree::Tree>& tree = snapshot.tree;
  if (!path.starts_with(kViews)) return type != tree::NodeType::File || has_own_data(*tree, node);
  const std::string_view view = path.substr(kViews.size());
  if (view.starts_with("external/")) return false;
  if (type != tree::NodeType::File || shows_metadata(view)) return true;
  const auto shown = viewed_dataset(tree, view);
  return shown && !shown->path.starts_with(kViews) && has_own_data(*tree, shown->node.id());
}

}  // namespace

std::string etag_of(const Snapshot& snapshot, std::string_view path, tree::NodeId node, tree::NodeType type,
                    std::string_view variant) {
  if (!is_of_source_alone(snapshot, path, node, type)) return {};
  return fmt::format("\"{}{}{}\"", snapshot.version, variant.empty() ? "" : "-", variant);
}

}  // namespace h5mount::serve

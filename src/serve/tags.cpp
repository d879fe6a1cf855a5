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

}  // namespace

bool Tags::has_own_data(tree::NodeId node) {
  const auto layout = snapshot_.tree->get_xattr(node, "user.hdf5.layout", budget_);
  return layout ? *layout != "external" && *layout != "virtual"
                : layout.error().code() == ErrorCode::NotFound;
}

// The entry `name` of the directory `from`, to which the path `above` led.
Result<Tags::Reached> Tags::follow(const Reached& from, std::string_view above, std::string_view name) {
  H5_ASSIGN(const tree::Entry entry, snapshot_.tree->lookup(from.node.id(), name, budget_));
  front::NodeReference node(snapshot_.tree, entry.node);
  if (entry.stat.type != tree::NodeType::Symlink)
    return Reached{std::move(node), entry.stat.type == tree::NodeType::File, from.elsewhere};
  H5_ASSIGN(front::FoundNode found, front::find_path(snapshot_.tree, front::joined_path(above, name),
                                                     front::LastLink::Follow, budget_));
  const bool elsewhere = from.elsewhere || found.path.starts_with(kViews);
  return Reached{std::move(found.node), found.stat.type == tree::NodeType::File, elsewhere};
}

// What the file itself has at a path of names that views share with it: the group there, or the dataset on
// the way, below which a view has its parts (fields, slices, chunks of Zarr stores). Nothing where it has
// neither.
const std::optional<Tags::Reached>& Tags::reached(std::string_view path) {
  if (path_ == path) return reached_;
  path_ = path;
  reached_.reset();
  Reached at;
  for (std::size_t begin = 0; begin < path.size() && !at.is_file;) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view above = path.substr(0, begin == 0 ? 0 : begin - 1);
    auto next = follow(at, above, path.substr(begin, end - begin));
    if (!next) return reached_;
    at = *std::move(next);
    begin = end + 1;
  }
  reached_ = std::move(at);
  return reached_;
}

// Whether the dataset that a view shows has its data in the source. The last name of a path may have a
// suffix.
bool Tags::shows_own_data(std::string_view view) {
  view.remove_prefix(std::min(view.find('/') + 1, view.size()));  // the name of the view
  const std::size_t slash = view.rfind('/');
  const std::string_view above = slash == std::string_view::npos ? std::string_view() : view.substr(0, slash);
  const std::string_view name = view.substr(slash + 1);
  const auto& directory = reached(above);
  if (!directory || directory->elsewhere) return false;
  if (directory->is_file) return has_own_data(directory->node.id());
  for (const std::string_view shown : {name, name.substr(0, name.rfind('.'))}) {
    const auto found = follow(*directory, above, shown);
    if (found && found->is_file) return !found->elsewhere && has_own_data(found->node.id());
  }
  return false;
}

bool Tags::is_of_source_alone(std::string_view path, tree::NodeId node, tree::NodeType type) {
  if (!path.starts_with(kViews)) return type != tree::NodeType::File || has_own_data(node);
  const std::string_view view = path.substr(kViews.size());
  if (view.starts_with("external/")) return false;
  if (type != tree::NodeType::File || shows_metadata(view)) return true;
  return shows_own_data(view);
}

std::string Tags::tag_of(std::string_view path, tree::NodeId node, tree::NodeType type,
                         std::string_view variant) {
  if (!is_of_source_alone(path, node, type)) return {};
  return fmt::format("\"{}{}{}\"", snapshot_.version, variant.empty() ? "" : "-", variant);
}

}  // namespace h5mount::serve

#include "own_data.h"

#include <algorithm>

namespace h5mount::front {
namespace {

constexpr std::string_view kViews = ".h5/";

bool is_own_dataset(tree::Tree& tree, tree::NodeId node) {
  const auto layout = tree.get_xattr(node, "user.hdf5.layout");
  return layout && *layout != "external" && *layout != "virtual";
}

enum class Shown { Own, Other, Nothing };

// What the tree has at `path`: a dataset, or nothing that has data.
Shown shown_at(const std::shared_ptr<tree::Tree>& tree, std::string_view path) {
  const auto found = find_path(tree, path, LastLink::Follow);
  if (!found || found->stat.type != tree::NodeType::File) return Shown::Nothing;
  const bool own = !found->path.starts_with(kViews) && is_own_dataset(*tree, found->node.id());
  return own ? Shown::Own : Shown::Other;
}

// A view of a dataset has the dataset's path after the view's name, and perhaps a suffix or more names. Where
// several datasets fit, all must have their own data.
bool is_view_of_own_data(const std::shared_ptr<tree::Tree>& tree, std::string_view view) {
  const std::size_t name = view.find('/');
  if (name == std::string_view::npos || view.substr(0, name) == "external") return false;
  const std::string_view path = view.substr(name + 1);
  bool any = false;
  for (std::size_t end = 0; end < path.size(); ++end) {
    end = std::min(path.find('/', end), path.size());
    const std::string_view whole = path.substr(0, end);
    const std::size_t dot = whole.rfind('.'), last_name = whole.rfind('/') + 1;
    const bool suffix = dot != std::string_view::npos && dot > last_name;
    bool here = false;
    for (const std::string_view candidate : {whole, suffix ? whole.substr(0, dot) : whole}) {
      const Shown shown = shown_at(tree, candidate);
      if (shown == Shown::Other) return false;
      here = here || shown == Shown::Own;
    }
    any = any || here;
    if (here) break;
  }
  return any;
}

}  // namespace

bool has_own_data(const std::shared_ptr<tree::Tree>& tree, const FoundNode& found) {
  const std::string_view path = found.path;
  return path.starts_with(kViews) ? is_view_of_own_data(tree, path.substr(kViews.size()))
                                  : is_own_dataset(*tree, found.node.id());
}

}  // namespace h5mount::front

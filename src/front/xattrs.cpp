#include "xattrs.h"

namespace h5mount::front {

std::vector<std::pair<std::string, std::string>> read_xattrs(tree::Tree& tree, const FoundNode& found,
                                                             const FailureHandler& failed) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto names = tree.list_xattrs(found.node.id());
  if (!names) {
    failed(found.path, names.error().within("the list of attributes"));
    return out;
  }
  for (const std::string& name : *names) {
    auto value = tree.get_xattr(found.node.id(), name);
    if (value)
      out.emplace_back(name, *std::move(value));
    else
      failed(found.path, value.error().within("attribute " + name));
  }
  return out;
}

}  // namespace h5mount::front

#include "xattrs.h"

#include "h5mount/base/advice.h"

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

std::optional<Error> trouble_with(tree::Tree& tree, const FoundNode& found) {
  const auto words = tree.get_xattr(found.node.id(), "user.hdf5.error");
  if (!words || words->empty()) return std::nullopt;
  std::optional<Error> why;
  if (found.stat.type == tree::NodeType::Directory) {
    const auto listing = tree.open_directory(found.node.id());
    if (!listing) {
      why = listing.error();
    } else if (const Error* damage = (*listing)->damage()) {
      why = *damage;
    }
  } else if (const auto opened = tree.open(found.node.id()); !opened) {
    why = opened.error();
  } else if (const auto stored = tree.get_xattr(found.node.id(), "user.hdf5.storage_size"); !stored) {
    why = stored.error();
  }
  const bool same = why && (is_about_bytes(why->code()) || text_with_advice(*why) == *words);
  return same ? why : Error(ErrorCode::InvalidValue, *words);
}

}  // namespace h5mount::front

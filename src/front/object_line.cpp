#include "object_line.h"

#include <fmt/format.h>

#include "h5mount/base/log.h"
#include "h5mount/base/utf8.h"

namespace h5mount::front {
namespace {

constexpr std::string_view kStructure = "user.hdf5.";
constexpr std::size_t kMaxValueBytes = 120;  // of an attribute, so that a line stays one for people

class ObjectLine {
 public:
  ObjectLine(tree::Tree& tree, const FoundNode& found) : tree_(tree), found_(found) {}

  std::string description() const {
    if (found_.stat.type == tree::NodeType::Symlink) {
      const auto target = tree_.readlink(found_.node.id());
      return "link -> " + (target ? escape_for_log(*target) : target.error().text());
    }
    const std::string kind = structure("kind");
    std::string out = kind == "dataset" ? dataset() : kind;
    if (kind == "datatype") out += " " + structure("dtype");
    if (kind.empty())
      out = found_.stat.type == tree::NodeType::Directory ? "directory" : fmt::format("{} bytes", size());
    if (const std::string error = structure("error"); !error.empty())
      out += "  error: " + escape_for_log(error);
    return out;
  }

  std::string attributes() const {
    const auto names = tree_.list_xattrs(found_.node.id());
    if (!names) return "    attributes: " + escape_for_log(names.error().text()) + "\n";
    std::string out;
    for (const std::string& name : *names) {
      if (name.starts_with(kStructure)) continue;
      const auto value = tree_.get_xattr(found_.node.id(), name);
      std::string shown = escape_for_log(value ? *value : value.error().text());
      if (shown.size() > kMaxValueBytes) shown = std::string(utf8_prefix(shown, kMaxValueBytes)) + "…";
      const std::string_view bare = std::string_view(name).substr(name.find('.') + 1);
      out += fmt::format("    @{} = {}\n", escape_for_log(bare), shown);
    }
    return out;
  }

 private:
  // Empty where there is none.
  std::string structure(std::string_view name) const {
    return tree_.get_xattr(found_.node.id(), std::string(kStructure) + std::string(name)).value_or("");
  }

  std::uint64_t size() const {
    const auto exact = tree_.stat(found_.node.id(), tree::StatDepth::Size);
    return exact ? exact->size : found_.stat.size;
  }

  std::string dataset() const {
    std::string out = fmt::format("dataset {} {}", structure("dtype"), structure("shape"));
    const std::string most = structure("maxshape"), chunks = structure("chunks");
    if (!most.empty() && most != structure("shape")) out += " of " + most;
    if (const std::string layout = structure("layout"); layout != "contiguous") out += "  " + layout;
    if (!chunks.empty()) out += " " + chunks;
    return out + filter_names();
  }

  // Of `[{"id":1,"name":"deflate",…},…]`.
  std::string filter_names() const {
    static constexpr std::string_view kKey = "\"name\":\"";
    const std::string filters = structure("filters");
    std::string out;
    for (std::size_t at = filters.find(kKey); at != std::string::npos; at = filters.find(kKey, at)) {
      at += kKey.size();
      out += (out.empty() ? "  " : ",") + filters.substr(at, filters.find('"', at) - at);
    }
    return out;
  }

  tree::Tree& tree_;
  const FoundNode& found_;
};

}  // namespace

std::string object_line(tree::Tree& tree, const FoundNode& found, const std::string& name, bool attributes) {
  const ObjectLine line(tree, found);
  std::string out = fmt::format("{:<24} {}\n", name, line.description());
  if (attributes) out += line.attributes();
  return out;
}

}  // namespace h5mount::front

// A text of a whole file for people who compare files: diff, git's textconv, a pager. Equal contents give
// equal texts, wherever they lie in the file and however they are stored, so addresses, times and sizes of
// storage are left out.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "file_reader.h"
#include "h5mount/base/text.h"
#include "h5mount/front/commands.h"
#include "h5mount/front/path_walk.h"
#include "h5mount/sign/sha256.h"
#include "h5mount/text/value_text.h"
#include "tree_walk.h"
#include "xattrs.h"

namespace h5mount::front {
namespace {

constexpr std::string_view kStructure = "user.hdf5.";
constexpr std::uint64_t kShownBytes = 400;  // of the values

bool depends_on_storage(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kNames = {"kind", "address", "storage_size", "sections"};
  return std::ranges::find(kNames, name) != kNames.end();
}

class TextWriter final : public Visitor {
 public:
  explicit TextWriter(const Context& context) : context_(context) {}

  Result<bool> visit(FoundNode& found) override {
    const tree::NodeId id = found.node.id();
    const auto kind = context_.tree->get_xattr(id, "user.hdf5.kind");
    const bool directory = found.stat.type == tree::NodeType::Directory;
    std::string text = fmt::format("{} {}", text::json_string("/" + found.path),
                                   kind        ? *kind
                                   : directory ? "directory"
                                               : "link");
    if (found.stat.type == tree::NodeType::Symlink) {
      const auto target = context_.tree->readlink(id);
      if (target) text += " -> " + text::json_string(*target);
    }
    text += '\n';
    if (found.stat.type != tree::NodeType::Symlink) {
      for (const auto& [name, value] : read_xattrs(*context_.tree, found, context_.failed))
        text += line_of_attribute(name, value);
    }
    H5_TRY(context_.out.add(text));
    if (found.stat.type != tree::NodeType::File || !kind || *kind != "dataset") return true;
    if (const Status written = add_data(found); !written) {
      if (context_.out.broken()) return fail(written.error());
      context_.failed(found.path, written.error());
    }
    return true;
  }

 private:
  static std::string line_of_attribute(const std::string& name, const std::string& value) {
    if (!name.starts_with(kStructure))
      return fmt::format("  @{} {}\n", name.substr(name.find('.') + 1), text::json_string(value));
    const std::string bare = name.substr(kStructure.size());
    return depends_on_storage(bare) ? std::string() : fmt::format("  {} {}\n", bare, value);
  }

  // Adds the digest of the bytes, and the first values as /.h5/text has them.
  Status add_data(const FoundNode& found) {
    H5_ASSIGN(FileReader file, FileReader::open(context_.tree, found.node.id()));
    H5_ASSIGN(const std::string digest, file.sha256());
    H5_TRY(context_.out.add(fmt::format("  sha256 {}\n", digest)));
    const auto values = first_values(found.path);
    if (!values) return fail(values.error());
    return context_.out.add(*values);
  }

  // Whole lines or, if the first line is too long, its beginning.
  Result<std::string> first_values(const std::string& path) {
    const auto shown = find_path(context_.tree, "/.h5/text/" + path, LastLink::Follow);
    if (!shown) return std::string();  // hidden by a link of the file's own
    H5_ASSIGN(FileReader file, FileReader::open(context_.tree, shown->node.id()));
    std::vector<std::byte> bytes;
    const std::uint64_t end = std::min(kShownBytes, file.size());
    H5_TRY(file.read(0, end, [&](const dataset::Pieces& pieces, std::uint64_t) -> Status {
      const std::size_t before = bytes.size();
      bytes.resize(before + static_cast<std::size_t>(pieces.total()));
      return dataset::copy_pieces(pieces.list(), std::span(bytes).subspan(before));
    }));
    std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (end < file.size()) rest = rest.substr(0, std::min(rest.rfind('\n'), rest.size()));
    std::string out;
    while (!rest.empty()) out += fmt::format("  | {}\n", take_until(rest, '\n'));
    if (end < file.size()) out += "  | …\n";
    return out;
  }

  const Context& context_;
};

}  // namespace

Status text(const Context& context, Paths paths) {
  if (!sign::has_sha256())
    return fail(Error(ErrorCode::UnsupportedFeature, "this h5mount has no libcrypto, which --text needs"));
  TextWriter writer(context);
  H5_TRY(walk_paths(context.tree, paths, writer, context.failed));
  return context.out.flush();
}

}  // namespace h5mount::front

#include <fmt/format.h>

#include <array>

#include "h5mount/front/commands.h"
#include "h5mount/front/path_walk.h"
#include "h5mount/text/json_writer.h"
#include "h5mount/tree/xattr_list.h"
#include "xattrs.h"

namespace h5mount::front {
namespace {

// By NodeType.
constexpr std::array<std::string_view, 3> kTypes = {"directory", "file", "symlink"};

Status stat_one(const Context& context, const std::string& path) {
  H5_ASSIGN(const FoundNode found, find_path(context.tree, path, LastLink::Keep));
  H5_ASSIGN(const tree::NodeStat stat, context.tree->stat(found.node.id(), tree::StatDepth::Full));
  std::string line;
  text::JsonWriter json(line);
  json.begin_object()
      .member("path", "/" + found.path)
      .member("type", kTypes[static_cast<std::size_t>(stat.type)]);
  json.member("size", stat.size).member("blocks", stat.blocks).member("links", stat.nlink);
  json.member("inode", stat.ino).member("mode", fmt::format("{:04o}", stat.unreadable ? 0 : stat.mode));
  json.member("uid", stat.uid).member("gid", stat.gid).member("mtime", stat.mtime);
  if (stat.type == tree::NodeType::Symlink) {
    H5_ASSIGN(const std::string target, context.tree->readlink(found.node.id()));
    json.member("target", target);
  }
  json.key("xattrs").begin_object();
  for (const auto& [name, value] : read_xattrs(*context.tree, found, context.failed))
    json.member(name, value);
  // It is answered by name, and lists do not name it, as it takes a walk of all chunk indexes.
  if (const auto told = context.tree->get_xattr(found.node.id(), tree::kReferencesXattr))
    json.member(tree::kReferencesXattr, *told);
  json.end_object().end_object();
  line += '\n';
  H5_TRY(context.out.add(line));
  if (const auto trouble = trouble_with(*context.tree, found)) context.failed(found.path, *trouble);
  return {};
}

}  // namespace

Status stat(const Context& context, Paths paths) {
  for (const std::string& path : paths) {
    const Status done = stat_one(context, path);
    if (done) continue;
    if (context.out.broken()) return done;
    context.failed(path, done.error());
  }
  return context.out.flush();
}

}  // namespace h5mount::front

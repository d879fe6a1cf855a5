#include <fmt/format.h>

#include "h5mount/front/commands.h"
#include "h5mount/front/path_walk.h"
#include "h5mount/text/value_text.h"
#include "xattrs.h"

namespace h5mount::front {
namespace {

std::string_view type_name(tree::NodeType type) {
  switch (type) {
    case tree::NodeType::Directory:
      return "directory";
    case tree::NodeType::File:
      return "file";
    case tree::NodeType::Symlink:
      return "symlink";
  }
  return "file";
}

void append_xattrs(const Context& context, const FoundNode& found, std::string& out) {
  out += ",\"xattrs\":{";
  bool first = true;
  for (const auto& [name, value] : read_xattrs(*context.tree, found, context.failed)) {
    if (!first) out += ',';
    first = false;
    text::append_json_string(name, out);
    out += ':';
    text::append_json_string(value, out);
  }
  out += '}';
}

Status stat_one(const Context& context, const std::string& path) {
  H5_ASSIGN(const FoundNode found, find_path(context.tree, path, LastLink::Keep));
  H5_ASSIGN(const tree::NodeStat stat, context.tree->stat(found.node.id(), tree::StatDepth::Full));
  std::string line = "{\"path\":";
  text::append_json_string("/" + found.path, line);
  line += fmt::format(R"(,"type":"{}","size":{},"blocks":{},"links":{},"inode":{},"mode":"{:04o}")",
                      type_name(stat.type), stat.size, stat.blocks, stat.nlink, stat.ino,
                      stat.unreadable ? 0 : stat.mode);
  line += fmt::format(R"(,"uid":{},"gid":{},"mtime":{})", stat.uid, stat.gid, stat.mtime);
  if (stat.type == tree::NodeType::Symlink) {
    H5_ASSIGN(const std::string target, context.tree->readlink(found.node.id()));
    line += ",\"target\":";
    text::append_json_string(target, line);
  }
  append_xattrs(context, found, line);
  line += "}\n";
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

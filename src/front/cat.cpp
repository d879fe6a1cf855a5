#include "file_reader.h"
#include "h5mount/front/commands.h"
#include "h5mount/front/path_walk.h"

namespace h5mount::front {
namespace {

// Reads to the end of the file, which may move meanwhile.
Status copy_out(tree::OpenNode& file, Output& out) {
  for (std::uint64_t offset = 0;;) {
    dataset::Pieces pieces;
    H5_TRY(file.read(offset, kReadBytes, pieces));
    if (pieces.total() == 0) return {};
    offset += pieces.total();
    H5_TRY(out.add(pieces));
    if (!pieces.kernel_only()) continue;
    H5_TRY(out.flush());
    H5_TRY(file.revalidate());
  }
}

Status cat_one(const Context& context, const std::string& path) {
  H5_ASSIGN(const FoundNode found, find_path(context.tree, path, LastLink::Follow));
  if (found.stat.type == tree::NodeType::Directory)
    return fail(Error(ErrorCode::InvalidValue,
                      "is a directory: --list names what is in it, --tar and --copy take all of it"));
  H5_ASSIGN(const auto file, context.tree->open(found.node.id()));
  const Status done = copy_out(*file, context.out);
  H5_TRY(context.out.flush());
  return done;
}

}  // namespace

Status cat(const Context& context, Paths paths) {
  for (const std::string& path : paths) {
    const Status done = cat_one(context, path);
    if (done) continue;
    if (context.out.broken()) return done;
    context.failed(path, done.error());
  }
  return {};
}

}  // namespace h5mount::front

#include <unordered_map>

#include "file_reader.h"
#include "h5mount/front/commands.h"
#include "tar_header.h"
#include "tree_walk.h"
#include "xattrs.h"

namespace h5mount::front {
namespace {

constexpr std::uint64_t kMaxHeldBytes = 64ULL << 20;  // of a file that is read before its header is written
constexpr std::size_t kMaxMemberExtents = std::size_t{1} << 20;  // of a sparse file; GNU tar's own limit

class TarWriter : public Visitor {
 public:
  explicit TarWriter(const Context& context) : context_(context) {}

  Result<bool> visit(FoundNode& found) override {
    const Status done = found.stat.type == tree::NodeType::Directory ? write_directory(found)
                        : found.stat.type == tree::NodeType::Symlink ? write_symlink(found)
                                                                     : write_file(found);
    if (done) return true;
    // The part of a member that has been written cannot be undone.
    if (context_.out.broken() || inside_member_) return fail(done.error().within("/" + found.path));
    context_.failed(found.path, done.error());
    return true;
  }

 private:
  TarMember member(const FoundNode& found, TarType type) const {
    TarMember out;
    out.type = type;
    out.name = "./" + found.path;
    if (type == TarType::Directory && !found.path.empty()) out.name += '/';
    out.stat = found.stat;
    return out;
  }

  Status write_directory(const FoundNode& found) {
    TarMember out = member(found, TarType::Directory);
    out.xattrs = read_xattrs(*context_.tree, found, context_.failed);
    return context_.out.add(tar_header(out));
  }

  Status write_symlink(const FoundNode& found) {
    TarMember out = member(found, TarType::Symlink);
    H5_ASSIGN(out.target, context_.tree->readlink(found.node.id()));
    if (out.target.size() > kMaxSymlinkBytes)
      return fail(Error(ErrorCode::LimitExceeded, "the target of the symlink is too long"));
    return context_.out.add(tar_header(out));
  }

  Status write_file(const FoundNode& found) {
    TarMember out = member(found, TarType::File);
    if (found.stat.nlink > 1) {
      const auto first = linked_.find(found.stat.ino);
      if (first != linked_.end() && first->second != out.name) {
        out.type = TarType::HardLink;
        out.target = first->second;
        return context_.out.add(tar_header(out));
      }
    }
    H5_ASSIGN(FileReader reader, FileReader::open(context_.tree, found.node.id()));
    H5_ASSIGN(out.extents, reader.data_extents(kMaxMemberExtents));
    out.size = reader.size();
    out.sparse = total_bytes(out.extents) < out.size;
    H5_TRY(write_content(found, reader, out));
    if (found.stat.nlink > 1) linked_.try_emplace(found.stat.ino, out.name);
    return {};
  }

  Status write_content(const FoundNode& found, FileReader& reader, TarMember& out) {
    const bool held = total_bytes(out.extents) <= kMaxHeldBytes;
    dataset::Pieces content;
    H5_TRY(read_extents(reader, out, [&](const dataset::Pieces& pieces, std::uint64_t) -> Status {
      if (held) content.append(pieces);
      return {};
    }));
    out.xattrs = read_xattrs(*context_.tree, found, context_.failed);
    const std::uint64_t start = context_.out.added();
    inside_member_ = true;
    H5_TRY(context_.out.add(tar_header(out)));
    if (held) {
      H5_TRY(write_pieces(reader, content));
    } else {
      const auto take = [&](const dataset::Pieces& pieces, std::uint64_t) {
        return write_pieces(reader, pieces);
      };
      H5_TRY(read_extents(reader, out, take));
    }
    H5_TRY(context_.out.add(tar_padding(context_.out.added() - start)));
    inside_member_ = false;
    return {};
  }

  static Status read_extents(FileReader& reader, const TarMember& out, const FileReader::Taker& take) {
    for (const dataset::ByteRange& extent : out.extents) H5_TRY(reader.read(extent.begin, extent.end, take));
    return {};
  }

  Status write_pieces(FileReader& reader, const dataset::Pieces& pieces) {
    H5_TRY(context_.out.add(pieces));
    if (!pieces.kernel_only()) return {};
    H5_TRY(context_.out.flush());
    return reader.revalidate();
  }

  const Context& context_;
  std::unordered_map<std::uint64_t, std::string>
      linked_;  // inode number of a hard-linked file: its first name
  bool inside_member_ = false;
};

}  // namespace

Status tar(const Context& context, Paths paths) {
  TarWriter writer(context);
  H5_TRY(walk_paths(context.tree, paths, writer, context.failed));
  H5_TRY(context.out.add(tar_end(context.out.added())));
  return context.out.flush();
}

}  // namespace h5mount::front

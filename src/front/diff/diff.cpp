#include "h5mount/front/diff.h"

#include <algorithm>
#include <vector>

#include "../file_reader.h"
#include "diff_context.h"
#include "h5mount/base/limits.h"
#include "h5mount/front/path_walk.h"
#include "name_pairs.h"
#include "object_diff.h"

namespace h5mount::front {
namespace {

// A node of one side.
struct SideNode {
  NodeReference node;
  tree::NodeStat stat;
  std::shared_ptr<const tree::DirectoryListing> listing = nullptr;
  tree::FileObjectPtr object = nullptr;  // null: the node is none of a file's own objects
};

std::string_view word_of(const SideNode& node) {
  if (node.object) return object::kind_name(node.object->object().kind);
  return node.stat.type == tree::NodeType::Directory ? "directory"
         : node.stat.type == tree::NodeType::Symlink ? "symlink"
                                                     : "file";
}

// Directories between files, files as they are, views: by names and bytes. What belongs to HDF5 files is
// compared as their objects.
class NodeDiff {
 public:
  NodeDiff(DiffContext& context, const DiffSide& a, const DiffSide& b)
      : context_(context), tree_a_(a.tree), tree_b_(b.tree) {}

  Status run(FoundNode a, FoundNode b) {
    H5_TRY(compare({std::move(a.node), a.stat}, {std::move(b.node), b.stat}));
    while (!levels_.empty()) {
      Level& level = levels_.back();
      context_.cut(level.path_bytes);
      if (const auto pair = level.names.next()) {
        H5_TRY(visit(level, *pair));
      } else {
        path_bytes_ -= level.path_bytes;
        levels_.pop_back();
      }
    }
    return {};
  }

 private:
  struct Level {
    SideNode a, b;
    NamePairs names;
    std::size_t path_bytes;
  };

  // May enter another directory, after which `level` is no longer valid.
  Status visit(const Level& level, const NamePairs::Pair& pair) {
    context_.enter(pair.name);
    if (context_.ignored.has(context_.path())) return {};
    if (!pair.a || !pair.b)
      return context_.report.add(context_.place(), pair.a ? DiffKind::OnlyA : DiffKind::OnlyB);
    auto a = entry(Which::A, level.a, *pair.a), b = entry(Which::B, level.b, *pair.b);
    return a && b ? compare(*std::move(a), *std::move(b)) : Status{};
  }

  std::optional<SideNode> entry(Which side, const SideNode& directory, std::size_t position) {
    const auto found = tree(side)->lookup_listed(directory.node.id(), *directory.listing, position);
    if (found) return SideNode{NodeReference(tree(side), found->node), found->stat};
    context_.failed(side, found.error());
    return std::nullopt;
  }

  Status compare(SideNode a, SideNode b) {
    const bool found_a = find_object(Which::A, a), found_b = find_object(Which::B, b);
    if (!found_a || !found_b) return {};
    if (a.object && b.object) return diff_objects(context_, a.object, b.object);
    if (a.object || b.object || a.stat.type != b.stat.type)
      return context_.report.add(context_.place(), DiffKind::Kind, shown_word(word_of(a)),
                                 shown_word(word_of(b)));
    switch (a.stat.type) {
      case tree::NodeType::Directory:
        enter(std::move(a), std::move(b));
        return {};
      case tree::NodeType::Symlink:
        return compare_symlinks(a, b);
      case tree::NodeType::File:
        return compare_files(a, b);
    }
    return {};
  }

  bool find_object(Which side, SideNode& of) {
    auto object = tree(side)->object_of(of.node.id(), tree::OwnBudget());
    if (!object) context_.failed(side, object.error());
    if (object) of.object = *std::move(object);
    return object.has_value();
  }

  void enter(SideNode a, SideNode b) {
    const std::size_t path_bytes = context_.length();
    if (path_bytes > limits::kMaxWalkedPathBytes - path_bytes_)
      return context_.failed(Which::A,
                             {ErrorCode::LimitExceeded, "directories are nested too deep to be compared"});
    const auto names_a = names_in(Which::A, a), names_b = names_in(Which::B, b);
    if (!names_a || !names_b) return;
    path_bytes_ += path_bytes;
    levels_.push_back({std::move(a), std::move(b), NamePairs(*names_a, *names_b), path_bytes});
  }

  // Nullopt, which was told, if the directory cannot be listed; some names may be missing.
  std::optional<NamePairs::Names> names_in(Which side, SideNode& directory) {
    auto listing = tree(side)->open_directory(directory.node.id());
    if (listing && (*listing)->size() > limits::kMaxWalkedObjects)
      listing = fail({ErrorCode::LimitExceeded, "the directory has too many entries to be compared"});
    if (!listing) {
      context_.failed(side, listing.error());
      return std::nullopt;
    }
    directory.listing = *std::move(listing);
    NamePairs::Names out;
    for (std::size_t i = 0; i < directory.listing->size(); ++i)
      out.push_back({directory.listing->name_at(i), i});
    for (const auto& [name, why] : directory.listing->left_out()) context_.failed(side, why.within(name));
    if (const Error* const damage = directory.listing->damage()) context_.failed(side, *damage);
    return out;
  }

  Status compare_symlinks(const SideNode& a, const SideNode& b) {
    const auto target_a = tree_a_->readlink(a.node.id()), target_b = tree_b_->readlink(b.node.id());
    if (!target_a) context_.failed(Which::A, target_a.error());
    if (!target_b) context_.failed(Which::B, target_b.error());
    if (!target_a || !target_b || *target_a == *target_b) return {};
    return context_.report.add(context_.place(), DiffKind::Link, shown_target(*target_a),
                               shown_target(*target_b));
  }

  // Files are arrays of bytes.
  Status compare_files(const SideNode& a, const SideNode& b) {
    auto file_a = FileReader::open(tree_a_, a.node.id()), file_b = FileReader::open(tree_b_, b.node.id());
    if (!file_a) context_.failed(Which::A, file_a.error());
    if (!file_b) context_.failed(Which::B, file_b.error());
    if (!file_a || !file_b) return {};
    if (file_a->size() != file_b->size())
      return context_.report.add(context_.place(), DiffKind::Shape, shown_size(file_a->size()),
                                 shown_size(file_b->size()));
    DifferentValues out;
    std::vector<std::byte> bytes_a, bytes_b;
    for (std::uint64_t offset = 0; offset < file_a->size(); offset += kReadBytes) {
      const std::uint64_t end = std::min(offset + kReadBytes, file_a->size());
      const Status read_a = read(*file_a, offset, end, bytes_a), read_b = read(*file_b, offset, end, bytes_b);
      if (!read_a) context_.failed(Which::A, read_a.error());
      if (!read_b) context_.failed(Which::B, read_b.error());
      if (!read_a || !read_b) return {};
      if (context_.options.compared_bytes != nullptr) *context_.options.compared_bytes += end - offset;
      if (bytes_a != bytes_b) add_different(bytes_a, bytes_b, offset, out);
    }
    return out.count == 0 ? Status{} : context_.report.add_values(context_.place(), out);
  }

  static DiffValue shown_size(std::uint64_t size) {
    return shown_shape(
        {.kind = format::DataspaceKind::Simple, .dims = {size}, .max_dims = {}, .max_below = {}});
  }

  static Status read(FileReader& file, std::uint64_t begin, std::uint64_t end,
                     std::vector<std::byte>& bytes) {
    bytes.resize(static_cast<std::size_t>(end - begin));
    return file.read(begin, end, [&](const dataset::Pieces& pieces, std::uint64_t offset) {
      return dataset::copy_pieces(pieces.list(),
                                  std::span(bytes).subspan(static_cast<std::size_t>(offset - begin)));
    });
  }

  void add_different(ByteSpan a, ByteSpan b, std::uint64_t offset, DifferentValues& out) const {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i]) continue;
      if (out.count++ < context_.options.first)
        out.first.push_back({{offset + i},
                             std::to_string(std::to_integer<unsigned>(a[i])),
                             std::to_string(std::to_integer<unsigned>(b[i]))});
    }
  }

  const std::shared_ptr<tree::Tree>& tree(Which side) const { return side == Which::A ? tree_a_ : tree_b_; }

  DiffContext& context_;
  const std::shared_ptr<tree::Tree>& tree_a_;
  const std::shared_ptr<tree::Tree>& tree_b_;
  std::vector<Level> levels_;
  std::size_t path_bytes_ = 0;  // the lengths of the paths of levels_ together
};

// A link at the end that leads nowhere stands for itself.
Result<FoundNode> find_start(const DiffSide& side) {
  auto found = find_path(side.tree, side.path, LastLink::Follow);
  if (found || found.error().code() != ErrorCode::NotFound) return found;
  auto link = find_path(side.tree, side.path, LastLink::Keep);
  return link ? std::move(link) : std::move(found);
}

}  // namespace

Result<DiffResult> diff(const DiffSide& a, const DiffSide& b, const DiffOptions& options, Output& out) {
  DiffContext context(a, b, options, out);
  auto in_a = find_start(a), in_b = find_start(b);
  const auto missing = [](const Result<FoundNode>& found) {
    return !found && found.error().code() == ErrorCode::NotFound;
  };
  const auto path_of = [](const Result<FoundNode>& found, const DiffSide& side) {
    return found ? found->path
                 : side.path.substr(std::min(side.path.find_first_not_of('/'), side.path.size()));
  };
  context.begin(path_of(in_a, a), path_of(in_b, b));
  const bool one_side = (in_a && missing(in_b)) || (missing(in_a) && in_b);
  if (one_side) {
    if (!context.ignored.has(context.path()))
      H5_TRY(context.report.add(context.place(), in_a ? DiffKind::OnlyA : DiffKind::OnlyB));
  } else {
    if (!in_a) context.failed(Which::A, in_a.error());
    if (!in_b) context.failed(Which::B, in_b.error());
    if (in_a && in_b && !context.ignored.has(context.path()))
      H5_TRY(NodeDiff(context, a, b).run(*std::move(in_a), *std::move(in_b)));
  }
  H5_TRY(context.report.end(!context.report.any() && !context.any_failed()));
  return context.any_failed()   ? DiffResult::Trouble
         : context.report.any() ? DiffResult::Different
                                : DiffResult::Equal;
}

}  // namespace h5mount::front

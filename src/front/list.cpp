#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/log.h"
#include "h5mount/front/commands.h"
#include "h5mount/tree/object_line.h"
#include "tree_walk.h"
#include "xattrs.h"

namespace h5mount::front {
namespace {

// The description of a node that is not an object of the file: a view, or a directory of views.
std::string describe_other(tree::Tree& tree, const FoundNode& found) {
  if (found.stat.type == tree::NodeType::Directory) return "Directory";
  const auto exact = tree.stat(found.node.id(), tree::StatDepth::Size);
  const auto left_out = tree.get_xattr(found.node.id(), "user.hdf5.left_out");
  return fmt::format("File of {} bytes{}", exact ? exact->size : found.stat.size,
                     left_out ? ", without " + escape_for_log(*left_out) : std::string());
}

// The description in the form of /.h5/list.txt. Something that cannot be read also counts as a failure.
std::string described(const Context& context, const FoundNode& found, const std::string& name,
                      bool attributes) {
  tree::Tree& tree = *context.tree;
  if (found.stat.type == tree::NodeType::Symlink) {
    const auto target = tree.readlink(found.node.id());
    if (!target) context.failed(found.path, target.error());
    return tree::object_line(name,
                             target ? tree::describe_symlink(*target) : "error: " + target.error().text());
  }
  const tree::XattrSource xattrs{
      [&] { return tree.list_xattrs(found.node.id()); },
      [&](std::string_view attribute) { return tree.get_xattr(found.node.id(), attribute); }};
  const std::string object = tree::describe_object(xattrs);
  if (const auto trouble = trouble_with(tree, found)) context.failed(found.path, *trouble);
  std::string out = tree::object_line(name, object.empty() ? describe_other(tree, found) : object);
  return attributes ? out + tree::describe_attributes(xattrs) : out;
}

// Prints the names in one directory, or the whole paths of everything below one.
class Lister : public Visitor {
 public:
  Lister(const Context& context, const ListOptions& options, bool whole_paths)
      : context_(context), options_(options), whole_paths_(whole_paths || options.recursive) {}

  Result<bool> visit(FoundNode& found) override {
    const bool enter = depth_ == 0 || options_.recursive;
    const bool directory = found.stat.type == tree::NodeType::Directory;
    // A directory given as a path is listed but not printed itself, except for the first line of -R.
    const std::size_t named = named_.size();
    if (depth_ > 0 || !directory || options_.recursive) H5_TRY(show(found));
    if (directory && enter) ++depth_;
    if (!directory || !enter) named_.resize(named);
    return enter;
  }

  Status leave(const FoundNode& left) override {
    --depth_;
    if (!named_.empty() && named_.back() == left.path) named_.pop_back();
    return {};
  }

  // The walk tells the damage of a list after its members; the description before them has told it already.
  void failed_in_walk(std::string_view path, const Error& error) {
    if (std::ranges::find(named_, path) == named_.end()) context_.failed(path, error);
  }

 private:
  Status show(const FoundNode& found) {
    const std::string name = whole_paths_ ? "/" + found.path : found.path.substr(found.path.rfind('/') + 1);
    if (options_.details) return context_.out.add(described(describing_, found, name, options_.recursive));
    name_unreadable(found);
    return context_.out.add((options_.for_terminal ? escape_for_log(name) : name) + "\n");
  }

  void name_unreadable(const FoundNode& found) {
    if (!found.stat.unreadable) return;
    if (const auto trouble = trouble_with(*context_.tree, found)) context_.failed(found.path, *trouble);
  }

  const Context& context_;
  const Context describing_{context_.tree, context_.out, [this](std::string_view path, const Error& error) {
                              context_.failed(path, error);
                              named_.emplace_back(path);
                            }};
  const ListOptions& options_;
  bool whole_paths_;
  unsigned depth_ = 0;              // number of directories being walked
  std::vector<std::string> named_;  // those of them whose error was told
};

// Printing names alone opens no object but the directory's own.
Status list_names(const Context& context, const FoundNode& directory, bool whole_paths, bool for_terminal) {
  const auto listing = context.tree->open_directory(directory.node.id());
  if (!listing) {
    context.failed(directory.path, listing.error());
    return {};
  }
  for (std::size_t i = 0; i < (*listing)->size(); ++i) {
    const std::string name = (*listing)->name_at(i);
    const std::string shown = whole_paths ? "/" + joined_path(directory.path, name) : name;
    H5_TRY(context.out.add((for_terminal ? escape_for_log(shown) : shown) + "\n"));
  }
  for (const auto& [name, why] : (*listing)->left_out())
    context.failed(joined_path(directory.path, name), why);
  if (const Error* damage = (*listing)->damage())
    context.failed(directory.path, *damage);
  else if (const auto trouble = trouble_with(*context.tree, directory))
    context.failed(directory.path, *trouble);
  return {};
}

}  // namespace

Status list(const Context& context, Paths paths, const ListOptions& options) {
  static const std::string kRoot = "/";
  const Paths places = paths.empty() ? Paths(&kRoot, 1) : paths;
  for (const std::string& path : places) {
    auto found = find_path(context.tree, path, options.details ? LastLink::Keep : LastLink::Follow);
    if (!found) {
      context.failed(path, found.error());
      continue;
    }
    const bool names_only = !options.details && !options.recursive;
    if (names_only && found->stat.type == tree::NodeType::Directory) {
      H5_TRY(list_names(context, *found, places.size() > 1, options.for_terminal));
    } else {
      Lister lister(context, options, places.size() > 1);
      H5_TRY(walk(context.tree, *std::move(found), lister, [&](std::string_view failed, const Error& error) {
        lister.failed_in_walk(failed, error);
      }));
    }
    H5_TRY(context.out.flush());
  }
  return {};
}

}  // namespace h5mount::front

// What a tree shows of a file in memory, as texts.
#pragma once

#include "followed.h"

namespace h5mount::test {

class ShownTree {
 public:
  explicit ShownTree(std::vector<std::byte> file)
      : tree_(tree_over(io::make_memory_source(std::move(file)), metadata::Follow::Never)) {}

  // Everything below a directory but what is below symlinks, in the order of its listings: `d/`, `d/f`,
  // `d/l -> target`. Each name leads where its listing says.
  std::vector<std::string> below(std::string_view path) const {
    std::vector<std::string> out;
    add_entries(look_up(*tree_, path), "", out);
    return out;
  }
  // The whole text of a file.
  std::string text(std::string_view path) const {
    const tree::NodeId node = look_up(*tree_, path);
    const auto stat = tree_->stat(node, tree::StatDepth::Size);
    const auto open = tree_->open(node);
    EXPECT_TRUE(stat && open) << path;
    dataset::Pieces pieces;
    if (!stat || !open || !(*open)->read(0, stat->size + 1, pieces)) return "cannot be read";
    EXPECT_EQ(pieces.total(), stat->size) << path;
    std::string out(static_cast<std::size_t>(pieces.total()), '\0');
    EXPECT_TRUE(dataset::copy_pieces(pieces.list(), std::as_writable_bytes(std::span(out))));
    return out;
  }
  // Why a directory does not have a name.
  ErrorCode refusal(std::string_view directory, std::string_view name) const {
    const auto found = tree_->lookup(look_up(*tree_, directory), name);
    EXPECT_FALSE(found) << directory << " has " << name;
    return found ? ErrorCode::Internal : found.error().code();
  }

 private:
  void add_entries(tree::NodeId directory, const std::string& prefix, std::vector<std::string>& out) const {
    const auto listing = tree_->open_directory(directory);
    ASSERT_TRUE(listing) << prefix << ": " << listing.error().text();
    EXPECT_EQ((*listing)->damage(), nullptr) << prefix;
    for (std::size_t i = 0; i < (*listing)->size(); ++i) {
      std::string made;
      const auto item = (*listing)->at(i, made);
      const std::string shown = prefix + std::string(item.name);
      const auto listed = tree_->lookup_listed(directory, **listing, i);
      const auto named = tree_->lookup(directory, item.name);
      ASSERT_TRUE(listed && named) << shown << ": " << (listed ? named : listed).error().text();
      EXPECT_EQ(listed->node, named->node) << shown;
      EXPECT_EQ(listed->stat.type, named->stat.type) << shown;
      if (item.type_known) EXPECT_EQ(item.type, named->stat.type) << shown;
      const bool is_directory = named->stat.type == tree::NodeType::Directory;
      const bool is_link = named->stat.type == tree::NodeType::Symlink;
      out.push_back(shown + (is_directory ? "/" : is_link ? " -> " + link_text(named->node) : ""));
      if (is_directory) add_entries(named->node, shown + "/", out);
    }
  }
  std::string link_text(tree::NodeId node) const {
    const auto target = tree_->readlink(node);
    return target ? *target : "error: " + target.error().text();
  }

  std::shared_ptr<tree::Tree> tree_;
};

}  // namespace h5mount::test

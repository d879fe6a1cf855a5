#include "virtual_nodes.h"

#include "../core/external_files.h"
#include "../core/inode_numbers.h"
#include "../objects/object_facts.h"
#include "h5mount/tree/names.h"

namespace h5mount::tree {

namespace {

class FixedListing : public DirectoryListing {
 public:
  struct Stored {
    std::string name;
    NodeType type;
    std::uint64_t ino;
  };
  explicit FixedListing(std::vector<Stored> items) : items_(std::move(items)) {}
  std::size_t size() const override { return items_.size(); }
  Item at(std::size_t position, std::string&) const override {
    return {.name = items_[position].name, .type = items_[position].type, .ino = items_[position].ino};
  }

 private:
  std::vector<Stored> items_;
};

class FixedDirectory : public Node {
 public:
  FixedDirectory(ViewContextPtr context, std::string path,
                 std::vector<std::pair<std::string, NodePtr>> children)
      : Node(virtual_key(std::move(path))), context_(std::move(context)), children_(std::move(children)) {}

  Result<NodeStat> stat(StatDepth, RequestBudget&) override {
    return plain_stat(*context_, NodeType::Directory, virtual_ino(key().name));
  }

  Result<NodePtr> child(std::string_view shown, RequestBudget&) override {
    for (const auto& [name, node] : children_)
      if (name == shown) return node;
    return fail({ErrorCode::NotFound, "no such entry"});
  }

  Result<std::shared_ptr<const DirectoryListing>> list(RequestBudget& budget) override {
    std::vector<FixedListing::Stored> items;
    for (const auto& [name, node] : children_) {
      H5_ASSIGN(const NodeStat stat, node->stat(StatDepth::Listing, budget));
      items.push_back({name, stat.type, stat.ino});
    }
    return std::make_shared<const FixedListing>(std::move(items));
  }

 private:
  ViewContextPtr context_;
  std::vector<std::pair<std::string, NodePtr>> children_;
};

class ExternalDirectory : public Node {
 public:
  ExternalDirectory(ViewContextPtr context, std::string path, std::function<NodePtr(ServedFilePtr)> make_root)
      : Node(virtual_key(std::move(path))), context_(std::move(context)), make_root_(std::move(make_root)) {}

  Result<NodeStat> stat(StatDepth, RequestBudget&) override {
    return plain_stat(*context_, NodeType::Directory, virtual_ino(key().name));
  }

  Result<NodePtr> child(std::string_view shown, RequestBudget&) override {
    H5_ASSIGN(ServedFilePtr file, context_->external->open(context_, shown));
    return make_root_(std::move(file));
  }

  // Inode numbers are unknown before a file is opened.
  Result<std::shared_ptr<const DirectoryListing>> list(RequestBudget&) override {
    std::vector<FixedListing::Stored> items;
    for (std::string& name : context_->external->used_names())
      items.push_back({std::move(name), NodeType::Directory, 0});
    return std::make_shared<const FixedListing>(std::move(items));
  }
  bool listing_lasts() const override { return false; }

 private:
  ViewContextPtr context_;
  std::function<NodePtr(ServedFilePtr)> make_root_;
};

}  // namespace

NodeKey virtual_key(std::string path) {
  return {nullptr, NodeKey::Kind::VirtualDirectory, 0, std::move(path)};
}

std::uint64_t virtual_ino(std::string_view path) {
  return make_ino(fnv1a("room"), path);
}

NodePtr make_fixed_directory(ViewContextPtr context, std::string path,
                             std::vector<std::pair<std::string, NodePtr>> children) {
  return std::make_shared<FixedDirectory>(std::move(context), std::move(path), std::move(children));
}

NodePtr make_external_directory(ViewContextPtr context, std::string path,
                                std::function<NodePtr(ServedFilePtr)> make_root) {
  return std::make_shared<ExternalDirectory>(std::move(context), std::move(path), std::move(make_root));
}

}  // namespace h5mount::tree

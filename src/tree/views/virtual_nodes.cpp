#include "virtual_nodes.h"

#include "../core/external_files.h"
#include "../core/inode_numbers.h"
#include "../core/name_list.h"
#include "../objects/object_facts.h"
#include "h5mount/tree/names.h"

namespace h5mount::tree {

namespace {

class FixedDirectory : public Node {
 public:
  FixedDirectory(MountContextPtr context, std::string path,
                 std::vector<std::pair<std::string, NodePtr>> children)
      : Node(virtual_key(std::move(path))), context_(std::move(context)), children_(std::move(children)) {}

  Result<NodeStat> stat(StatDepth, RequestBudget&) override {
    return virtual_stat(*context_, NodeType::Directory, key().name);
  }

  Result<NodePtr> child(std::string_view shown, RequestBudget&) override {
    for (const auto& [name, node] : children_)
      if (name == shown) return node;
    return fail({ErrorCode::NotFound, "no such entry"});
  }

  Result<std::shared_ptr<const DirectoryListing>> list(RequestBudget& budget) override {
    auto out = std::make_shared<NameList>();
    for (const auto& [name, node] : children_) {
      H5_ASSIGN(const NodeStat stat, node->stat(StatDepth::Listing, budget));
      out->add(name, stat.type, stat.ino);
    }
    return out;
  }

 private:
  MountContextPtr context_;
  std::vector<std::pair<std::string, NodePtr>> children_;
};

class ExternalDirectory : public Node {
 public:
  ExternalDirectory(MountContextPtr context, std::string path,
                    std::function<NodePtr(ServedFilePtr)> make_root)
      : Node(virtual_key(std::move(path))), context_(std::move(context)), make_root_(std::move(make_root)) {}

  Result<NodeStat> stat(StatDepth, RequestBudget&) override {
    return virtual_stat(*context_, NodeType::Directory, key().name);
  }

  Result<NodePtr> child(std::string_view shown, RequestBudget&) override {
    H5_ASSIGN(ServedFilePtr file, context_->external->open(context_, shown));
    return make_root_(std::move(file));
  }

  // Inode numbers are unknown before a file is opened.
  Result<std::shared_ptr<const DirectoryListing>> list(RequestBudget&) override {
    auto out = std::make_shared<NameList>();
    for (std::string& name : context_->external->used_names()) out->add(std::move(name), NodeType::Directory);
    return out;
  }
  bool lasts() const override { return false; }

 private:
  MountContextPtr context_;
  std::function<NodePtr(ServedFilePtr)> make_root_;
};

}  // namespace

NodeKey virtual_key(std::string path) {
  return {nullptr, NodeKey::Kind::VirtualDirectory, 0, std::move(path)};
}

NodeStat virtual_stat(const MountContext& context, NodeType type, std::string_view path) {
  return plain_stat(context, type, make_ino(fnv1a("virtual directory") + context.ino_seed, path));
}

DirectoryOfFile::DirectoryOfFile(const VirtualDirectorySetup& setup, std::string path)
    : Node(virtual_key(std::move(path))), setup_(setup) {}

Result<std::vector<NodeSource>> DirectoryOfFile::sources(RequestBudget&) {
  return std::vector{setup_.main->as_source()};
}

Result<NodeStat> DirectoryOfFile::stat(StatDepth, RequestBudget&) {
  return virtual_stat(*setup_.context, NodeType::Directory, key().name);
}

NodePtr make_fixed_directory(MountContextPtr context, std::string path,
                             std::vector<std::pair<std::string, NodePtr>> children) {
  return std::make_shared<FixedDirectory>(std::move(context), std::move(path), std::move(children));
}

NodePtr make_external_directory(MountContextPtr context, std::string path,
                                std::function<NodePtr(ServedFilePtr)> make_root) {
  return std::make_shared<ExternalDirectory>(std::move(context), std::move(path), std::move(make_root));
}

}  // namespace h5mount::tree

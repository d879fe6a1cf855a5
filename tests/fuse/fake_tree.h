// A Tree in memory that counts the calls of the session and fails where a test sets an error.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <map>
#include <mutex>
#include <stdexcept>

#include "h5mount/tree/tree.h"

namespace h5mount::test {

struct FakeNode {
  tree::NodeType type = tree::NodeType::File;
  std::string name;
  tree::NodeId parent = 0;
  std::string content;  // of a file; a symlink's target
  std::map<std::string, std::string> xattrs;
  std::uint64_t claimed_size = 0;  // where not 0, instead of the content's
  bool complete = true;
};

class FakeTree final : public tree::Tree {
 public:
  FakeTree() { nodes_[tree::kRootNode].type = tree::NodeType::Directory; }

  tree::NodeId add(tree::NodeId parent, tree::NodeType type, std::string name, std::string content = {}) {
    const std::lock_guard lock(nodes_mutex_);
    const tree::NodeId id = next_++;
    FakeNode& node = nodes_[id];
    node.type = type;
    node.name = std::move(name);
    node.parent = parent;
    node.content = std::move(content);
    children_[parent].push_back(id);
    return id;
  }
  void add_first(tree::NodeId parent, std::string name) {
    const tree::NodeId id = add(parent, tree::NodeType::File, std::move(name));
    const std::lock_guard lock(nodes_mutex_);
    children_[parent].pop_back();
    children_[parent].insert(children_[parent].begin(), id);
  }
  FakeNode& node(tree::NodeId id) {
    const std::lock_guard lock(nodes_mutex_);
    return nodes_.at(id);
  }
  const FakeNode& node(tree::NodeId id) const {
    const std::lock_guard lock(nodes_mutex_);
    return nodes_.at(id);
  }

  // References that the kernel holds; its forget requests must return them to zero.
  std::int64_t references() const { return references_; }
  std::mutex xattrs_mutex;  // held to change `xattrs` of a tree that is mounted
  std::atomic<int> getxattr_calls{0}, listxattr_calls{0}, listed_lookups{0}, lookups{0}, opens{0},
      listings{0}, full_stats{0}, reports{0};
  std::function<Status(tree::NodeId, std::uint64_t, std::uint64_t, dataset::Pieces&)>
      on_read;  // instead of the content
  std::function<void()> on_lookup;
  std::uint32_t uid = 0, gid = 0;
  std::shared_ptr<tree::KernelPages> kernel() const {
    const std::lock_guard lock(kernel_mutex_);
    return kernel_;
  }

  Result<tree::Entry> lookup(tree::NodeId parent, std::string_view name, RequestBudget&) override {
    ++lookups;
    if (on_lookup) on_lookup();
    for (const tree::NodeId id : children(parent)) {
      if (node(id).name == name) return entry(id);
    }
    return fail(Error(ErrorCode::NotFound, "no such name"));
  }
  bool follows(tree::NodeId) override { return false; }
  bool all_last = true, tells = true;
  bool lasts(tree::NodeId) override { return all_last; }
  bool notifies_changes() const override { return tells; }
  Result<std::vector<tree::NodeSource>> sources_of(tree::NodeId, RequestBudget&) override { return sources; }
  std::vector<tree::NodeSource> sources;  // of every node
  std::optional<Error> stat_error;
  Error unreadable{ErrorCode::InvalidValue, "bad header"};  // of a file of that name that is listed
  std::string_view media_type(tree::NodeId) override { return tree::kPlainBytes; }
  void set_kernel(std::shared_ptr<tree::KernelPages> pages) override {
    const std::lock_guard lock(kernel_mutex_);
    kernel_ = std::move(pages);
  }
  void file_changed() override {}
  std::vector<std::string> watchable() const override { return {}; }
  void when_more_to_watch(std::function<void()> /*notify*/) override {}
  void forget(tree::NodeId, std::uint64_t count) override { references_ -= static_cast<std::int64_t>(count); }
  Result<tree::NodeStat> stat(tree::NodeId id, tree::StatDepth depth, RequestBudget&) override {
    if (depth == tree::StatDepth::Full) ++full_stats;
    if (stat_error) return fail(*stat_error);
    tree::NodeStat out = stat_of(id);
    if (depth == tree::StatDepth::Full) out.complete = true;
    return out;
  }
  Result<std::string> readlink(tree::NodeId id) override { return node(id).content; }
  Result<std::shared_ptr<const tree::DirectoryListing>> open_directory(tree::NodeId id,
                                                                       RequestBudget&) override {
    ++listings;
    if (node(id).name == "damaged") return fail(Error(ErrorCode::ChecksumMismatch, "bad group"));
    return std::make_shared<Listing>(*this, children(id));
  }
  Result<tree::Entry> lookup_listed(tree::NodeId, const tree::DirectoryListing& listing, std::size_t position,
                                    tree::FilesRead&, RequestBudget&) override {
    ++listed_lookups;
    const std::string name = listing.name_at(position);
    if (name == "unreadable") return fail(unreadable);
    return entry(static_cast<const Listing&>(listing).ids[position]);
  }
  Result<std::shared_ptr<tree::OpenNode>> open(tree::NodeId id, RequestBudget&) override {
    ++opens;
    if (node(id).claimed_size > (1ULL << 62)) return fail(Error(ErrorCode::TooLarge, "too large"));
    return std::make_shared<File>(*this, id);
  }
  Result<std::vector<std::string>> list_xattrs(tree::NodeId id, RequestBudget&) override {
    ++listxattr_calls;
    const std::lock_guard lock(xattrs_mutex);
    std::vector<std::string> out;
    for (const auto& [name, value] : node(id).xattrs) out.push_back(name);
    return out;
  }
  Result<std::string> get_xattr(tree::NodeId id, std::string_view name, RequestBudget&) override {
    ++getxattr_calls;
    const std::lock_guard lock(xattrs_mutex);
    const auto& all = node(id).xattrs;
    const auto found = all.find(std::string(name));
    if (found == all.end()) return fail(Error(ErrorCode::NotFound, "no such attribute"));
    return found->second;
  }
  Result<std::optional<tree::FileOfNode>> file_of(tree::NodeId, RequestBudget&) override {
    return std::optional<tree::FileOfNode>();
  }
  Result<std::shared_ptr<const tree::FileObject>> root_object(tree::NodeId, RequestBudget&) override {
    return fail({ErrorCode::NotFound, "a tree without a file"});
  }
  Result<std::shared_ptr<const tree::FileObject>> object_of(tree::NodeId, RequestBudget&) override {
    return nullptr;
  }
  void report(tree::NodeId, const Error&) override { ++reports; }

  FileStat statfs() const override { return {.file_bytes = 4097}; }

  // What a read gives where there is no `on_read`.
  Status read_content(tree::NodeId id, std::uint64_t offset, std::uint64_t length,
                      dataset::Pieces& out) const {
    const std::string& all = node(id).content;
    if (offset >= all.size()) return {};
    out.add(as_bytes(std::string_view(all).substr(offset, length)), nullptr);
    return {};
  }

 private:
  struct Listing final : tree::DirectoryListing {
    Listing(FakeTree& owner, std::vector<tree::NodeId> all) : tree(owner), ids(std::move(all)) {}
    std::size_t size() const override { return ids.size(); }
    Item at(std::size_t position, std::string&) const override {
      const FakeNode& node = tree.node(ids[position]);
      return {node.name, node.type, ids[position]};
    }
    FakeTree& tree;
    std::vector<tree::NodeId> ids;
  };

  struct File final : tree::OpenNode {
    File(FakeTree& owner, tree::NodeId node) : tree(owner), id(node) {}
    Status read(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out, RequestBudget&) override {
      if (tree.on_read) return tree.on_read(id, offset, length, out);
      return tree.read_content(id, offset, length, out);
    }
    // The second half is a hole.
    Result<std::uint64_t> seek_data(std::uint64_t offset, RequestBudget&) override {
      if (offset < tree.node(id).content.size() / 2) return offset;
      return fail(Error(ErrorCode::NotFound, "no data"));
    }
    Result<std::uint64_t> seek_hole(std::uint64_t offset, RequestBudget&) override {
      const std::uint64_t size = tree.node(id).content.size();
      if (offset >= size) return fail(Error(ErrorCode::NotFound, "behind the end"));
      return std::max(offset, size / 2);
    }
    FakeTree& tree;
    tree::NodeId id;
  };

  tree::NodeStat stat_of(tree::NodeId id) {
    const FakeNode& node = this->node(id);
    tree::NodeStat out;
    out.type = node.type;
    out.ino = id;
    out.size = node.claimed_size != 0 ? node.claimed_size : node.content.size();
    out.blocks = (out.size + 511) / 512;
    out.mode = node.type == tree::NodeType::Directory ? 0555 : 0444;
    out.mtime = 1'700'000'000;
    out.uid = uid;
    out.gid = gid;
    out.complete = node.complete;
    return out;
  }
  tree::Entry entry(tree::NodeId id) {
    ++references_;
    return {id, stat_of(id)};
  }

  std::vector<tree::NodeId> children(tree::NodeId id) {
    const std::lock_guard lock(nodes_mutex_);
    return children_[id];
  }

  mutable std::mutex kernel_mutex_;
  std::shared_ptr<tree::KernelPages> kernel_;
  mutable std::mutex nodes_mutex_;  // nodes are added to a tree that is mounted
  std::map<tree::NodeId, FakeNode> nodes_;
  std::map<tree::NodeId, std::vector<tree::NodeId>> children_;
  tree::NodeId next_ = 2;
  std::atomic<std::int64_t> references_{0};
};

}  // namespace h5mount::test

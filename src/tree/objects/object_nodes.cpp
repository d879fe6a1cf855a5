#include "object_nodes.h"

#include <fmt/format.h>

#include <cerrno>

#include "../core/followed_bytes.h"
#include "../core/inode_numbers.h"
#include "../core/open_files.h"
#include "followed_dataset.h"
#include "h5mount/base/advice.h"
#include "h5mount/base/momentary.h"
#include "h5mount/tree/names.h"
#include "h5mount/view/text_lines.h"
#include "listings_ahead.h"

namespace h5mount::tree {

namespace {

// A node with the extended attributes of its object.
class ObjectNode : public Node {
 public:
  ObjectNode(ServedFilePtr file, std::uint64_t address, LinkPlace place)
      : Node({file.get(), NodeKey::Kind::Object, address, {}}),
        file_(std::move(file)),
        address_(address),
        place_(std::move(place)) {}

  Subject subject() const override { return {file_.get(), file_->path_of(place_)}; }

  Result<std::vector<std::string>> list_xattrs(RequestBudget& budget) override {
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(address_, budget));
    return list_object_xattrs(*file_, *object, budget);
  }

  Result<std::string> get_xattr(std::string_view name, RequestBudget& budget) override {
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(address_, budget));
    return get_object_xattr(*file_, *object, name, budget);
  }

  std::optional<Error> damage(RequestBudget& budget) override {
    const auto object = file_->object(address_, budget);
    return object ? object_damage(*file_, **object, budget) : std::optional(object.error());
  }

 protected:
  const ServedFilePtr& file() const { return file_; }
  std::uint64_t address() const { return address_; }
  const LinkPlace& place() const { return place_; }

 private:
  ServedFilePtr file_;
  std::uint64_t address_;
  LinkPlace place_;
};

class DatasetNode : public ObjectNode {
 public:
  DatasetNode(const ServedFilePtr& file, std::uint64_t object, LinkPlace link)
      : ObjectNode(file, object, std::move(link)),
        dataset_(file, object, place()),
        bytes_(dataset_, {&view::view_by_suffix("")}) {}

  Result<NodeStat> stat(StatDepth depth, RequestBudget& budget) override {
    H5_ASSIGN(const OpenedObjectPtr object, file()->object(address(), budget));
    NodeStat stat = object_stat(*file(), object->object, NodeType::File);
    if (depth != StatDepth::Listing && file()->metadata()->source()->far()) read_siblings_ahead(*object);
    const DatasetDescriptionPtr measured = bytes_.measure(depth, stat, id(), budget);
    if (measured) dataset_.measure_blocks(depth, *measured, stat, budget);
    H5_TRY(ended_early(budget));
    return stat;
  }

  bool follows() const override { return dataset_.follows(); }
  Result<std::vector<NodeSource>> sources(RequestBudget& budget) override { return dataset_.sources(budget); }
  void catch_up() override { bytes_.catch_up(id()); }

  Result<std::shared_ptr<OpenNode>> open(RequestBudget& budget) override {
    return open_bytes(shared_from_this(), bytes_, budget);
  }

 private:
  // The size of text is known by reading it, and in a far file the sizes of others beside it are wanted next.
  void read_siblings_ahead(const OpenedObject& object) {
    const auto description = known_description_of(*file(), object);
    if (description && view::is_shown_as_text(*(*description)->type))
      file()->kept<ListingsAhead>().will_measure(file(), address(), place().group);
  }

  FollowedDataset dataset_;
  FollowedBytes bytes_;
};

class DatatypeNode : public ObjectNode {
 public:
  using ObjectNode::ObjectNode;

  Result<NodeStat> stat(StatDepth, RequestBudget& budget) override {
    H5_ASSIGN(const OpenedObjectPtr object, file()->object(address(), budget));
    NodeStat stat = object_stat(*file(), object->object, NodeType::File);
    const auto line = text(*object);
    line ? set_size(stat, line->size()) : set_unreadable_size(stat);
    return stat;
  }

  Result<std::shared_ptr<OpenNode>> open(RequestBudget& budget) override {
    H5_ASSIGN(const OpenedObjectPtr object, file()->object(address(), budget));
    H5_ASSIGN(std::string line, text(*object));
    return open_text(std::move(line));
  }

 private:
  Result<std::string> text(const OpenedObject& object) const {
    H5_ASSIGN(const format::DatatypePtr type, object::committed_datatype(*object.snapshot, object.object));
    return text::datatype_text(*type) + "\n";
  }
};

class GroupNode : public ObjectNode {
 public:
  GroupNode(const ServedFilePtr& view, std::uint64_t object, LinkPlace place, unsigned depth, NodePtr hidden)
      : ObjectNode(view, object, std::move(place)),
        contents_(view, object, depth),
        hidden_(std::move(hidden)) {}

  Result<NodeStat> stat(StatDepth, RequestBudget& budget) override {
    H5_ASSIGN(const OpenedObjectPtr object, file()->object(address(), budget));
    NodeStat stat = object_stat(*file(), object->object, NodeType::Directory);
    if (hidden_ && file()->context().ino_seed == 0) stat.ino = kRootNode;
    return stat;
  }

  // A link of the file that has the hidden directory's name takes precedence. Damage does not hide the
  // directory.
  Result<NodePtr> child(std::string_view shown, RequestBudget& budget) override {
    auto link = contents_.find(shown, budget);
    if (!link && hidden_ && shown == kHiddenName) return hidden_;
    if (!link) return fail(std::move(link).error());
    return node_of(*link, budget);
  }

  Result<std::shared_ptr<const DirectoryListing>> list(RequestBudget& budget) override {
    if (file()->metadata()->source()->far())
      file()->kept<ListingsAhead>().will_list(file(), address(), place().group);
    H5_ASSIGN(std::shared_ptr<const DirectoryListing> listing, contents_.list(budget));
    return listing;
  }

  Result<NodePtr> listed_child(const DirectoryListing& listing, std::size_t position,
                               RequestBudget& budget) override {
    const auto* links = dynamic_cast<const GroupListing*>(&listing);
    if (links == nullptr) return child(listing.name_at(position), budget);
    H5_ASSIGN(const format::Link link, contents_.find_listed(*links, position, budget));
    budget.share_pauses(links->pauses());
    return node_of(link, budget);
  }

 private:
  // If the mount shows the file that the link names, the symlink leads to the place where it is shown.
  std::optional<SymlinkPath> path_to_sibling(const format::Link& link) const {
    const auto& sibling = file()->context().options.sibling;
    if (!sibling || !link.is(format::LinkType::External) || file()->depth() != 0) return std::nullopt;
    if (format::unknown_external_form(link)) return std::nullopt;
    const auto place = sibling(link.file);
    if (!place) return std::nullopt;
    return SymlinkPath{.above = path_up(contents_.depth()) + *place + "/", .path = link.target};
  }

  Result<NodePtr> node_of(const format::Link& link, RequestBudget& budget) {
    if (const auto path = path_to_sibling(link))
      return make_symlink_node(link_key(contents_, link), file(), symlink_text(*path));
    const MomentaryWatch watch;
    LinkTarget target = contents_.resolve(link, budget);
    if (const auto* symlink = std::get_if<SymlinkPath>(&target.what))
      return make_symlink_node(link_key(contents_, link), file(), symlink_text(*symlink));
    auto* const broken = std::get_if<LinkTarget::Broken>(&target.what);
    // A broken node would stay: the lookup fails instead, and the next one tries again.
    if (broken != nullptr && watch.met()) return fail(*watch.met());
    if (broken != nullptr && may_succeed_later(broken->why)) return fail(broken->why);
    if (broken != nullptr)
      return make_broken_node(link_key(contents_, link), contents_, link, std::move(broken->why));
    const object::Object& object = std::get<OpenedObjectPtr>(target.what)->object;
    LinkPlace place{address(), link.name};
    switch (object.kind) {
      case object::ObjectKind::Group:
        return std::make_shared<GroupNode>(file(), object.address, std::move(place), contents_.depth() + 1,
                                           nullptr);
      case object::ObjectKind::Dataset:
        return std::make_shared<DatasetNode>(file(), object.address, std::move(place));
      case object::ObjectKind::Datatype:
        return std::make_shared<DatatypeNode>(file(), object.address, std::move(place));
    }
    return fail({ErrorCode::Internal, "an object of no kind"});
  }

  GroupContents contents_;
  NodePtr hidden_;
};

class SymlinkNode : public Node {
 public:
  SymlinkNode(NodeKey key, ServedFilePtr file, std::string text)
      : Node(std::move(key)), file_(std::move(file)), bytes_(text.size()) {
    if (bytes_ <= kMaxTarget) text_ = std::move(text);
  }

  Result<NodeStat> stat(StatDepth, RequestBudget&) override {
    const std::uint64_t parent = file_->ino_of(key().address);
    NodeStat stat = plain_stat(*file_, NodeType::Symlink, make_ino(parent, key().name));
    stat.size = bytes_;
    return stat;
  }

  Result<std::string> readlink() override {
    if (bytes_ > kMaxTarget)
      return fail(io_error(ENAMETOOLONG, "a link's target is longer than a path can be"));
    return text_;
  }

 private:
  static constexpr std::size_t kMaxTarget = 4095;  // PATH_MAX without the NUL

  ServedFilePtr file_;
  std::size_t bytes_;
  std::string text_;  // empty if it is too long
};

class BrokenNode : public Node {
 public:
  BrokenNode(NodeKey key, ServedFilePtr file, std::uint64_t object, LinkPlace place, Error why)
      : Node(std::move(key)),
        file_(std::move(file)),
        object_(object),
        place_(std::move(place)),
        why_(std::move(why)) {}

  Subject subject() const override { return {file_.get(), file_->path_of(place_)}; }

  Result<NodeStat> stat(StatDepth, RequestBudget&) override {
    NodeStat stat = plain_stat(*file_, NodeType::File, file_->ino_of(object_));
    stat.unreadable = true;
    set_unreadable_size(stat);
    return stat;
  }

  Result<std::shared_ptr<OpenNode>> open(RequestBudget&) override { return fail(why_); }

  Result<std::vector<std::string>> list_xattrs(RequestBudget&) override {
    return std::vector<std::string>{"user.hdf5.address", "user.hdf5.error"};
  }

  Result<std::string> get_xattr(std::string_view name, RequestBudget&) override {
    if (name == "user.hdf5.address") return fmt::format("0x{:x}", object_);
    if (name == "user.hdf5.error") return text_with_advice(why_);
    return fail(unknown());
  }

  std::optional<Error> damage(RequestBudget&) override { return why_; }

 private:
  // Why it is not known whether the object has an attribute: EIO, unless there is no object.
  Error unknown() const {
    const bool told = why_.code() == ErrorCode::NotFound || to_errno(why_.code()) == EIO;
    return told ? why_ : Error(ErrorCode::Io, why_.text());
  }

  ServedFilePtr file_;
  std::uint64_t object_;
  LinkPlace place_;
  Error why_;
};

}  // namespace

NodeKey link_key(const GroupContents& parent, const format::Link& link) {
  return {parent.file().get(), NodeKey::Kind::Link, parent.address(), "/" + link.name};
}

NodePtr make_broken_node(NodeKey key, const GroupContents& parent, const format::Link& link, Error why) {
  return std::make_shared<BrokenNode>(std::move(key), parent.file(), link.address,
                                      LinkPlace{parent.address(), link.name}, std::move(why));
}

NodePtr make_root_node(ServedFilePtr file, NodePtr hidden) {
  const std::uint64_t address = file->root_address();
  return std::make_shared<GroupNode>(std::move(file), address, LinkPlace(), 0, std::move(hidden));
}

NodePtr make_symlink_node(NodeKey key, ServedFilePtr file, std::string text) {
  return std::make_shared<SymlinkNode>(std::move(key), std::move(file), std::move(text));
}

}  // namespace h5mount::tree

// /.h5/attributes: a mirror of the tree in which every object is a directory. It holds the object's attributes as
// text files, without a bound on their size, and below a group the mirrors of what it links to. Symlinks are those
// of the tree: the mirror has its shape, /.h5/external included, so they resolve alike.
//
// An attribute comes before a child of the same name, which is then shown as names that meet are.
#include <unordered_set>

#include "external_files.h"
#include "h5mount/base/log.h"
#include "h5mount/view/names.h"
#include "object_facts.h"
#include "object_nodes.h"
#include "open_files.h"
#include "rooms.h"

namespace h5mount {

namespace {

constexpr std::string_view kInoSalt = "attributes";
constexpr std::size_t kAnySize = ~std::size_t{0};

class AttributeTextNode : public Node {
 public:
  AttributeTextNode(FileViewPtr file, std::uint64_t object, std::string_view shown)
      : Node({file.get(), NodeKey::Kind::AttributeText, object, std::string(shown)}), file_(std::move(file)) {}

  Result<NodeStat> stat(StatDepth depth) override {
    const std::uint64_t ino = make_ino(make_ino(file_->ino_of(key().address), kInoSalt), key().name);
    NodeStat stat = plain_stat(file_->context(), NodeType::File, ino);
    stat.complete = depth != StatDepth::Listing;
    if (!stat.complete) return stat;
    if (const auto value = text()) stat.size = value->size();
    return stat;
  }

  Result<std::shared_ptr<OpenNode>> open() override {
    H5_ASSIGN(std::string value, text());
    return open_text(std::move(value));
  }

 private:
  Result<std::string> text() const {
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(key().address));
    H5_ASSIGN(const Attribute attribute, find_shown_attribute(*file_, *object, key().name, AttributeNaming::File));
    return attribute_text(*file_, attribute, kAnySize);
  }

  FileViewPtr file_;
};

// The attributes, then the links of a group.
class MirrorListing : public DirectoryListing {
 public:
  MirrorListing(std::vector<std::string> attributes, std::shared_ptr<const GroupListing> links)
      : attributes_(std::move(attributes)), links_(std::move(links)) {
    std::unordered_set<std::string_view> taken(attributes_.begin(), attributes_.end());
    if (!links_ || taken.empty()) return;
    for (std::size_t i = 0; i < links_->size(); ++i) {
      const std::string_view shown = links_->at(i).name;
      if (taken.contains(shown)) renamed_.emplace(i, cut_name(links_->link(i).name, shown, kMaxShownName, 0));
    }
  }

  std::size_t size() const override { return attributes_.size() + (links_ ? links_->size() : 0); }

  Item at(std::size_t position) const override {
    if (position < attributes_.size()) return {.name = attributes_[position], .type = NodeType::File};
    Item item = links_->at(position - attributes_.size());
    item.ino = 0;
    if (const auto other = renamed_.find(position - attributes_.size()); other != renamed_.end())
      item.name = other->second;
    return item;
  }

  // The position among the group's links; nothing for an attribute.
  std::optional<std::size_t> link_position(std::size_t position) const {
    if (position < attributes_.size()) return std::nullopt;
    return position - attributes_.size();
  }
  const GroupListing& links() const { return *links_; }

 private:
  std::vector<std::string> attributes_;
  std::shared_ptr<const GroupListing> links_;
  std::unordered_map<std::size_t, std::string> renamed_;
};

class MirrorNode : public Node {
 public:
  // A group, or the root of a file (then with `room`, where a name of last resort leads).
  MirrorNode(FileViewPtr file, std::uint64_t group, unsigned depth, NodePtr room)
      : Node({file.get(), NodeKey::Kind::AttributesOf, group, {}}),
        contents_(GroupContents(file, group, depth)),
        file_(file),
        object_(group),
        room_(std::move(room)) {}

  // Another object, one mirror a link: a directory cannot have two places.
  MirrorNode(const GroupContents& parent, const Link& link)
      : Node(link_key(parent, link, true)), file_(parent.file()), object_(link.address) {}

  Result<NodeStat> stat(StatDepth) override {
    const std::uint64_t ino = make_ino(make_ino(file_->ino_of(key().address), kInoSalt), key().name);
    return plain_stat(file_->context(), NodeType::Directory, ino);
  }

  Result<NodePtr> child(std::string_view shown) override {
    if (may_be_cut(shown)) return child_by_listing(shown);
    if (auto attribute = attribute_node(shown)) return attribute;
    if (!contents_) return fail({ErrorCode::NotFound, "no such attribute"});
    auto link = contents_->find(shown);
    if (!link && room_ && shown == ".h5" && link.error().code() == ErrorCode::NotFound) return room_;
    if (!link) return fail(std::move(link).error());
    return mirror_of(*link);
  }

  Result<std::shared_ptr<const DirectoryListing>> list() override {
    H5_ASSIGN(std::shared_ptr<const DirectoryListing> listing, mirror_listing());
    return listing;
  }

  Result<NodePtr> listed_child(const DirectoryListing& listing, std::size_t position) override {
    const auto* mirrored = dynamic_cast<const MirrorListing*>(&listing);
    if (mirrored == nullptr) return child(listing.at(position).name);
    const auto link_position = mirrored->link_position(position);
    if (!link_position) return std::make_shared<AttributeTextNode>(file_, object_, listing.at(position).name);
    H5_ASSIGN(const Link link, contents_->find_listed(mirrored->links(), *link_position));
    return mirror_of(link);
  }

 private:
  Result<NodePtr> attribute_node(std::string_view shown) const {
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(object_));
    H5_TRY(find_shown_attribute(*file_, *object, shown, AttributeNaming::File));
    return std::make_shared<AttributeTextNode>(file_, object_, shown);
  }

  // Damaged attributes do not hide what a group links to.
  Result<std::shared_ptr<const MirrorListing>> mirror_listing() const {
    H5_ASSIGN(const OpenedObjectPtr object, file_->object(object_));
    auto names = shown_attribute_names(*file_, *object, AttributeNaming::File);
    if (!names) {
      if (!contents_) return fail(std::move(names).error());
      log_error(names.error().within("attributes of the object", object_));
    }
    std::shared_ptr<const GroupListing> links;
    if (contents_) {
      H5_ASSIGN(links, contents_->list());
    }
    return std::make_shared<const MirrorListing>(names ? *std::move(names) : std::vector<std::string>{},
                                                 std::move(links));
  }

  Result<NodePtr> child_by_listing(std::string_view shown) {
    H5_ASSIGN(const std::shared_ptr<const MirrorListing> listing, mirror_listing());
    for (std::size_t i = 0; i < listing->size(); ++i)
      if (listing->at(i).name == shown) return listed_child(*listing, i);
    return fail({ErrorCode::NotFound, "no such attribute"});
  }

  Result<NodePtr> mirror_of(const Link& link) const {
    LinkTarget target = contents_->resolve(link);
    if (auto* symlink = std::get_if<LinkTarget::Symlink>(&target.what))
      return make_symlink_node(*contents_, link, std::move(symlink->text), true);
    if (auto* broken = std::get_if<LinkTarget::Broken>(&target.what))
      return make_broken_node(*contents_, link, std::move(broken->why), true);
    const Object& object = std::get<OpenedObjectPtr>(target.what)->object;
    if (object.kind == ObjectKind::Group)
      return std::make_shared<MirrorNode>(file_, object.address, contents_->depth() + 1, nullptr);
    return std::make_shared<MirrorNode>(*contents_, link);
  }

  std::optional<GroupContents> contents_;  // groups
  FileViewPtr file_;
  std::uint64_t object_;
  NodePtr room_;
};

// The mirror of /.h5/external.
class MirrorExternal : public Node {
 public:
  explicit MirrorExternal(ViewContextPtr context)
      : Node(room_key("attributes/.h5/external")), context_(std::move(context)) {}

  Result<NodeStat> stat(StatDepth) override {
    return plain_stat(*context_, NodeType::Directory, room_ino(key().name));
  }

  Result<NodePtr> child(std::string_view shown) override {
    H5_ASSIGN(const FileViewPtr file, context_->external->open(context_, shown));
    return std::make_shared<MirrorNode>(file, file->root_address(), 0, nullptr);
  }

  Result<std::shared_ptr<const DirectoryListing>> list() override {
    return std::make_shared<const MirrorListing>(std::vector<std::string>{}, nullptr);
  }

 private:
  ViewContextPtr context_;
};

}  // namespace

NodePtr make_attributes_room(const RoomSetup& setup) {
  NodePtr room = make_fixed_directory(setup.context, "attributes/.h5",
                                      {{"external", std::make_shared<MirrorExternal>(setup.context)}});
  return std::make_shared<MirrorNode>(setup.main, setup.main->root_address(), 0, std::move(room));
}

}  // namespace h5mount

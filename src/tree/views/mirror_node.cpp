#include <fmt/format.h>

#include "../core/inode_numbers.h"
#include "../objects/decoded.h"
#include "../objects/element_links.h"
#include "../objects/object_facts.h"
#include "../objects/object_nodes.h"
#include "h5mount/object/resolve_path.h"
#include "h5mount/tree/names.h"
#include "mirror_listing.h"

namespace h5mount::tree {

namespace {

// The target of a link of a group.
struct Target {
  OpenedObjectPtr object;              // in this file; null: in another one, or nowhere
  std::optional<SymlinkPath> symlink;  // nullopt: the object itself is here
  bool elsewhere = false;              // in another file
  std::optional<Error> unread = {};    // why the object cannot be opened
  ElementLinksPtr elements = {};       // what the object is shown as

  bool is_group() const { return object && (elements || object->object.kind == object::ObjectKind::Group); }
};

class MirrorNode : public Node {
 public:
  // `hidden`: the node that is shown as .h5 unless a link has that name, for the root of the mounted file;
  // else null.
  MirrorNode(MirrorPtr mirror, GroupContents contents, NodePtr hidden)
      : Node({contents.file().get(), NodeKey::Kind::Mirror, contents.address(),
              fmt::format("{}{}", mirror->name(), contents.path())}),
        mirror_(std::move(mirror)),
        contents_(std::move(contents)),
        hidden_(std::move(hidden)) {}

  Result<NodeStat> stat(StatDepth, RequestBudget&) override {
    return plain_stat(view(), NodeType::Directory, make_ino(view().ino_of(key().address), key().name));
  }

  Result<NodePtr> child(std::string_view shown, RequestBudget& budget) override {
    const std::string_view suffix = mirror_->suffix();
    if (may_be_cut(shown) || may_be_cut(without_suffix(shown, suffix)))
      return child_by_listing(shown, budget);
    if (!suffix.empty() && shown.ends_with(suffix)) {
      H5_ASSIGN(NodePtr directory, directory_named(shown, budget));
      if (directory) return directory;
    }
    const std::optional<MirrorEntry> entry = mirror_->decode(shown);
    if (!entry) return fail(no_such_entry());
    auto found = node_of_entry(*entry, shown, budget);
    for (const MirrorEntry& other : mirror_->other_entries(shown)) {
      if (found || found.error().code() != ErrorCode::NotFound) break;
      H5_TRY(budget.spend(kStepsPerLink));
      found = node_of_entry(other, shown, budget);
    }
    return found;
  }

  Result<std::shared_ptr<const DirectoryListing>> list(RequestBudget& budget) override {
    H5_ASSIGN(std::shared_ptr<const DirectoryListing> made, listing(budget));
    return made;
  }

  Result<std::vector<std::string>> list_xattrs(RequestBudget& budget) override {
    H5_ASSIGN(const std::string text, decoded(budget));
    return text.empty() ? std::vector<std::string>{} : std::vector{std::string(kDecodedXattr)};
  }
  Result<std::string> get_xattr(std::string_view name, RequestBudget& budget) override {
    if (name != kDecodedXattr) return Node::get_xattr(name, budget);
    H5_ASSIGN(std::string text, decoded(budget));
    return text.empty() ? Node::get_xattr(name, budget) : text;
  }

  Result<NodePtr> listed_child(const DirectoryListing& listing, std::size_t position,
                               RequestBudget& budget) override {
    const auto* mirrored = dynamic_cast<const MirrorListing*>(&listing);
    if (mirrored == nullptr) return child(listing.name_at(position), budget);
    const std::optional<MirrorEntry> entry = mirrored->entry(*mirror_, position);
    if (!entry) return fail(no_such_entry());
    const std::uint32_t at = mirrored->link_position(position);
    if (at == MirrorListing::kOwn) return own_part(entry->part, budget);
    H5_ASSIGN(const format::Link link, contents_.find_listed(mirrored->links(), at, budget));
    budget.share_pauses(mirrored->links().pauses());
    return node_of(link, entry->part, budget);
  }

 private:
  ServedFile& view() const { return *contents_.file(); }
  Result<std::string> decoded(RequestBudget& budget) const {
    H5_ASSIGN(const OpenedObjectPtr object, view().object(contents_.address(), budget));
    if (!contents_.elements()) return mirror_->decoded_group(view(), *object, budget);
    H5_ASSIGN(auto decoding, decoding_of_object(view(), *object, budget));
    return decoding ? std::move(decoding->text) : std::string();
  }
  bool has_own_parts() const {
    return contents_.address() == view().root_address() || mirror_->parts_inside_groups();
  }

  Result<NodePtr> node_of_entry(const MirrorEntry& entry, std::string_view shown, RequestBudget& budget) {
    if (!entry.link) return own_part(entry.part, budget);
    const auto link = contents_.find_named(*entry.link, budget);
    if (!link && hidden_ && shown == kHiddenName) return hidden_;
    if (!link) return fail(link.error());
    return node_of(*link, entry.part, budget);
  }

  // `work`: carries the request's budget. Fails only with what concerns the request.
  Result<Target> target_of(const format::Link& link, object::PathWork& work) const {
    RequestBudget& budget = work.budget;
    LinkTarget target = contents_.resolve(link, budget);
    if (auto* broken = std::get_if<LinkTarget::Broken>(&target.what))
      return unread({}, std::move(broken->why));
    if (auto* object = std::get_if<OpenedObjectPtr>(&target.what))
      return with_elements({.object = *std::move(object), .symlink = {}}, link, budget);
    Target out{.object = nullptr, .symlink = std::get<SymlinkPath>(std::move(target.what))};
    out.elsewhere = link.is(format::LinkType::External);
    std::optional<std::uint64_t> address;
    if (link.is(format::LinkType::Hard)) address = link.address;
    if (link.is(format::LinkType::Soft)) {
      const auto found = object::resolve_path(view().metadata(), contents_.address(), link.target, work);
      out.elsewhere = !found && found.error().code() == ErrorCode::UnsupportedFeature;  // in another file
      if (!found && !out.elsewhere && !object::leads_nowhere(found.error()))
        return unread(std::move(out), found.error());
      if (found) address = *found;
    }
    if (!address) return out;
    auto object = view().object(*address, budget);
    if (!object) return unread(std::move(out), object.error());
    out.object = *std::move(object);
    return with_elements(std::move(out), link, budget);
  }

  Result<bool> hides(const format::Link& link, RequestBudget& budget) const {
    return mirror_->decodes() ? is_kept_beside(contents_, link, budget) : false;
  }

  // What references lead to is a directory only at one path, as groups are.
  Result<Target> with_elements(Target target, const format::Link& link, RequestBudget& budget) const {
    const bool here = !target.symlink;
    if (here && contents_.elements()) target.elements = contents_.elements()->inside(link);
    if (target.elements) return target;
    // What cannot be told, as an attribute is damaged, is shown as itself.
    if (!mirror_->decodes()) return target;
    auto elements = matlab_elements(view(), *target.object, budget);
    if (!elements && is_passing(elements.error())) return fail(elements.error());
    if (elements) target.elements = *std::move(elements);
    if (!here || !target.is_group() || (!target.elements && contents_.path().empty())) return target;
    const std::string path = view().path_of(contents_.place_of(link));
    auto other = view().kept<ElementPlaces>().other_place(link.address, path);
    if (!other) return unread(std::move(target), other.error());
    if (*other) target.symlink = SymlinkPath{.above = path_up(contents_.depth()), .path = **other};
    return target;
  }

  static Result<Target> unread(Target target, Error why) {
    if (is_passing(why)) return fail(std::move(why));
    target.unread = std::move(why);
    return target;
  }

  // Whether the link is shown as one entry by its name, without any parts.
  static bool stands_alone(const Target& target) {
    return target.elsewhere || target.is_group() || target.unread;
  }

  // The same, or because its parts cannot be told.
  bool keeps_its_name(const Target& target, RequestBudget& budget) const {
    if (stands_alone(target)) return true;
    if (!target.object || !names_object(target)) return false;
    const auto why = why_parts_unknown(*target.object, {}, budget);
    return why && *why;
  }

  // Why the parts of an object cannot be told, if `part` is what stands for them.
  Result<std::optional<Error>> why_parts_unknown(const OpenedObject& object, const std::string& part,
                                                 RequestBudget& budget) const {
    if (part != mirror_->part_for_damage(object)) return std::nullopt;
    const Status all = mirror_->for_each_part(view(), object, budget, [](const std::string&) {});
    if (all) return std::nullopt;
    if (is_passing(all.error())) return fail(all.error());
    return all.error();
  }

  // Whether the path names the object whose part is requested: false if it ends at "the group that the link
  // is in".
  bool names_object(const Target& target) const {
    return !target.symlink || has_names(*target.symlink) ||
           target.object->object.address == view().root_address();
  }

  // The directory that keeps this name although an entry of the view has the same; null if there is none.
  Result<NodePtr> directory_named(std::string_view shown, RequestBudget& budget) const {
    const std::optional<std::string> name = decode_name(shown);
    if (!name) return nullptr;
    const auto link = contents_.find_named(*name, budget);
    if (!link && link.error().code() == ErrorCode::NotFound) return nullptr;
    if (!link) return fail(link.error());
    object::PathWork work{.budget = budget};
    const auto target = target_of(*link, work);
    if (!target || !keeps_its_name(*target, budget)) return nullptr;
    return node_of(*link, {}, budget);
  }

  Result<NodePtr> own_part(const std::string& part, RequestBudget& budget) const {
    if (!has_own_parts()) return fail(no_such_entry());
    H5_ASSIGN(const OpenedObjectPtr group, view().object(contents_.address(), budget));
    format::Link link;
    link.address = contents_.address();
    return part_node(*group, {std::nullopt, part}, link, budget);
  }

  Result<NodePtr> node_of(const format::Link& link, const std::string& part, RequestBudget& budget) const {
    H5_ASSIGN(const bool hidden, hides(link, budget));
    if (hidden) return fail(no_such_entry());
    object::PathWork work{.budget = budget};
    H5_ASSIGN(Target target, target_of(link, work));
    const bool alone = part.empty() && stands_alone(target);
    if (!alone && target.unread) return fail(*std::move(target.unread));
    if (!alone && (!target.object || target.elements || !names_object(target))) return fail(no_such_entry());
    if (!alone && !target.symlink) return part_node(*target.object, {link.name, part}, link, budget);
    if (!alone) {
      const Status found = mirror_->find_part(view(), *target.object, part, budget);
      H5_ASSIGN(const auto why,
                found ? std::optional<Error>() : why_parts_unknown(*target.object, part, budget));
      if (!found && !why) return fail(found.error());
    }
    if (target.symlink) return symlink_node({link.name, part}, *target.symlink);
    if (target.unread) return broken_node({link.name, part}, link, *std::move(target.unread));
    const bool of_references = target.elements || !contents_.path().empty();
    std::string path = of_references ? view().path_of(contents_.place_of(link)) : std::string();
    return std::make_shared<MirrorNode>(mirror_,
                                        GroupContents(contents_.file(), link.address, contents_.depth() + 1,
                                                      std::move(target.elements), std::move(path)),
                                        nullptr);
  }

  // The node of an object's part, or of what stands for parts that cannot be told.
  Result<NodePtr> part_node(const OpenedObject& object, const MirrorEntry& entry, const format::Link& link,
                            RequestBudget& budget) const {
    const Status found = mirror_->find_part(view(), object, entry.part, budget);
    if (found) return mirror_->make_node(contents_, link, entry.part, budget);
    H5_ASSIGN(std::optional<Error> why, why_parts_unknown(object, entry.part, budget));
    if (!why) return fail(found.error());
    return broken_node(entry, link, *std::move(why));
  }

  NodeKey key_of(const MirrorEntry& entry) const {
    return {contents_.file().get(), NodeKey::Kind::Mirror, contents_.address(),
            key().name + "/" + mirror_->encode(entry)};
  }

  NodePtr broken_node(const MirrorEntry& entry, const format::Link& link, Error why) const {
    return make_broken_node(key_of(entry), contents_, link, std::move(why));
  }

  NodePtr symlink_node(const MirrorEntry& entry, SymlinkPath path) const {
    std::string last;
    if (!entry.part.empty()) {
      MirrorEntry there{.link = {}, .part = entry.part};
      if (has_names(path)) there.link = take_last_name(path);
      last = mirror_->encode(there);
    }
    std::string text = symlink_text(path, mirror_->link_encoding());
    if (!last.empty()) text = text == "." ? last : text + "/" + last;
    return make_symlink_node(key_of(entry), contents_.file(), std::move(text));
  }

  // Only the whole listing tells which entry a cut name means.
  Result<NodePtr> child_by_listing(std::string_view shown, RequestBudget& budget) {
    H5_ASSIGN(const std::shared_ptr<const MirrorListing> made, listing(budget));
    for (std::size_t i = 0; i < made->size(); ++i)
      if (made->name(i) == shown) return listed_child(*made, i, budget);
    return fail(made->damage() != nullptr ? *made->damage() : no_such_entry());
  }

  Result<std::shared_ptr<const MirrorListing>> listing(RequestBudget& budget) const {
    H5_ASSIGN(std::shared_ptr<const GroupListing> links, contents_.list(budget));
    budget.share_pauses(links->pauses());
    auto out = std::make_shared<MirrorListing>(view(), links);
    object::PathWork work{.budget = budget};
    if (!mirror_->suffix().empty()) keep_directory_names(*links, *out, work);
    if (has_own_parts()) {
      H5_ASSIGN(const OpenedObjectPtr group, view().object(contents_.address(), budget));
      H5_TRY(add_parts(*out, {}, MirrorListing::kOwn, *group, mirror_->entry_type(), budget));
    }
    for (std::size_t i = 0; i < links->size(); ++i)
      H5_TRY(add_link(*out, *links, static_cast<std::uint32_t>(i), work));
    out->close();
    return out;
  }

  void keep_directory_names(const GroupListing& links, MirrorListing& out, object::PathWork& work) const {
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (!links.name(i).ends_with(mirror_->suffix())) continue;
      const auto link = contents_.find_listed(links, i, work.budget);
      const auto target = link ? target_of(*link, work) : Result<Target>(fail(link.error()));
      if (target && keeps_its_name(*target, work.budget)) out.keep(std::string(links.name(i)));
    }
  }

  // An object that cannot be read has an entry by its own name, as in the tree; the others are listed beside
  // it.
  Status add_link(MirrorListing& out, const GroupListing& links, std::uint32_t position,
                  object::PathWork& work) const {
    RequestBudget& budget = work.budget;
    const auto link = contents_.find_listed(links, position, budget);
    if (!link && !is_passing(link.error())) {
      report(links.link(position).name, link.error());
      return out.add(*mirror_, {links.link(position).name, {}}, position, NodeType::Symlink);
    }
    const auto hidden = link ? hides(*link, budget) : Result<bool>(false);
    if (hidden && *hidden) return {};
    const auto target = link ? target_of(*link, work) : Result<Target>(fail(link.error()));
    H5_TRY(budget.check());
    if (!target) {
      out.note(target.error().within("Group", contents_.address()));
      return {};
    }
    if (target->unread) report(link->name, *target->unread);
    const NodeType symlink_or = target->symlink ? NodeType::Symlink : mirror_->entry_type();
    const NodeType alone = target->symlink  ? NodeType::Symlink
                           : target->unread ? NodeType::File
                                            : NodeType::Directory;
    if (stands_alone(*target)) H5_TRY(out.add(*mirror_, {link->name, {}}, position, alone));
    if (!target->object || target->elements || !names_object(*target)) return {};
    if (target->is_group() && mirror_->parts_inside_groups()) return {};
    return add_parts(out, link->name, position, *target->object, symlink_or, budget);
  }

  Status add_parts(MirrorListing& out, const std::optional<std::string>& link, std::uint32_t position,
                   const OpenedObject& object, NodeType type, RequestBudget& budget) const {
    Status added;
    const Status all = mirror_->for_each_part(view(), object, budget, [&](std::string part) {
      const MirrorEntry entry{link, std::move(part)};
      if (added && !belongs_to_other(entry, budget)) added = out.add(*mirror_, entry, position, type);
    });
    H5_TRY(added);
    if (all) return {};
    H5_TRY(budget.check());
    if (is_passing(all.error())) {
      out.note(all.error().within("the view of the object", object.object.address));
      return {};
    }
    report(link.value_or(""), all.error());
    const NodeType shown = type == NodeType::Symlink ? type : NodeType::File;
    return out.add(*mirror_, {link, mirror_->part_for_damage(object)}, position, shown);
  }

  // Whether the name of an entry leads to another link, which has it.
  bool belongs_to_other(const MirrorEntry& entry, RequestBudget& budget) const {
    const auto first = mirror_->decode(mirror_->encode(entry));
    return first && first->link && first->link != entry.link &&
           contents_.find_named(*first->link, budget).has_value();
  }

  // Once for each cause. A front end that walks the directory names the entry itself.
  void report(const std::string& name, const Error& why) const {
    if (!view().context().options.logs_failed_reads) return;
    view().report(view().path_of({contents_.address(), name}), why);
  }

  MirrorPtr mirror_;
  GroupContents contents_;
  NodePtr hidden_;
};

}  // namespace

NodePtr make_mirror(const VirtualDirectorySetup& setup, MirrorPtr mirror) {
  const std::string hidden = fmt::format("{}/{}", mirror->name(), kHiddenName);
  NodePtr external = make_external_directory(
      setup.context, hidden + "/external", [mirror](const ServedFilePtr& file) -> NodePtr {
        const std::uint64_t root = file->root_address();
        return std::make_shared<MirrorNode>(mirror, GroupContents(file, root, 0), nullptr);
      });
  NodePtr hidden_root = make_fixed_directory(setup.context, hidden, {{"external", std::move(external)}});
  const std::uint64_t root = setup.main->root_address();
  return std::make_shared<MirrorNode>(std::move(mirror), GroupContents(setup.main, root, 0),
                                      std::move(hidden_root));
}

}  // namespace h5mount::tree

#include "group_contents.h"

#include <fmt/format.h>

#include "../core/external_files.h"
#include "damaged_lists.h"
#include "h5mount/base/momentary.h"
#include "h5mount/object/list_damage.h"
#include "h5mount/tree/names.h"

namespace h5mount::tree {

namespace {

Error no_such_link() {
  return {ErrorCode::NotFound, "no such link"};
}

}  // namespace

Result<format::Link> GroupContents::find(std::string_view shown, RequestBudget& budget) const {
  H5_ASSIGN(const OpenedObjectPtr object, file_->object(address_, budget));
  H5_ASSIGN(const std::shared_ptr<const object::Group> opened, opened_group(*object));
  if (may_be_cut(shown)) return find_cut(object, *opened, shown, budget);
  const std::optional<std::string> name = decode_name(shown);
  if (!name) return fail(no_such_link());
  return opened->find(*name);
}

LinkPlace GroupContents::place_of(const format::Link& link) const {
  if (path_.empty()) return {address_, link.name};
  return {file_->root_address(), fmt::format("{}/{}", path_.substr(1), link.name)};
}

Result<format::Link> GroupContents::find_named(std::string_view name, RequestBudget& budget) const {
  if (elements_) return elements_->find(name, budget);
  H5_ASSIGN(const OpenedObjectPtr object, file_->object(address_, budget));
  H5_ASSIGN(const std::shared_ptr<const object::Group> opened, opened_group(*object));
  return opened->find(name);
}

// Only the whole listing tells which link a cut name means; the map is made once and cached with the object.
Result<format::Link> GroupContents::find_cut(const OpenedObjectPtr& object, const object::Group& opened,
                                             std::string_view shown, RequestBudget& budget) const {
  const auto cut = [&]() -> Result<std::shared_ptr<const CutNames>> {
    H5_ASSIGN(const std::shared_ptr<const GroupListing> listing, list(budget));
    return std::make_shared<const CutNames>(listing->cut_names());
  };
  H5_ASSIGN(const std::shared_ptr<const CutNames> names, object->cut_names.get(cut, budget));
  file_->objects().charge_again(*object);
  const auto found = names->find(std::string(shown));
  if (found == names->end()) {
    if (const std::optional<Error> damage = links_damage(*object)) return fail(*damage);
    return fail(no_such_link());
  }
  return opened.find(found->second);
}

Result<format::Link> GroupContents::find_listed(const GroupListing& listing, std::size_t position,
                                                RequestBudget& budget) const {
  format::Link link = listing.link(position);
  if (link.is(format::LinkType::Hard)) return link;
  H5_ASSIGN(const OpenedObjectPtr object, file_->object(address_, budget));
  H5_ASSIGN(const std::shared_ptr<const object::Group> opened, opened_group(*object));
  return opened->find(link.name);
}

Result<std::shared_ptr<const GroupListing>> GroupContents::list(RequestBudget& budget) const {
  H5_ASSIGN(const OpenedObjectPtr object, file_->object(address_, budget));
  const std::uint64_t snapshot = object->snapshot->number();
  if (!file_->followed().following()) {
    const MutexLock lock(listed_->mutex);
    if (const auto listing = listed_->listing.lock(); listing && listed_->snapshot == snapshot)
      return listing;
  }
  const MomentaryWatch watch;
  H5_ASSIGN(const std::shared_ptr<const GroupListing> made, make_list(object, budget));
  if (watch.met()) return made;  // its damage says so at its end; the next listing may be whole
  const MutexLock lock(listed_->mutex);
  listed_->listing = made;
  listed_->snapshot = snapshot;
  return made;
}

Result<std::shared_ptr<const GroupListing>> GroupContents::make_list(const OpenedObjectPtr& object,
                                                                     RequestBudget& budget) const {
  if (elements_) {
    H5_ASSIGN(FoundLinks found, elements_->list(budget));
    return std::make_shared<const GroupListing>(file_, std::move(found), true, std::nullopt);
  }
  H5_ASSIGN(const std::shared_ptr<const object::Group> opened, opened_group(*object));
  FoundLinks links;
  object::ListDamage damage;
  damage.note(opened->for_each(
      [&](const format::Link& link) {
        links.add(link);
        return true;
      },
      [&](const Error& error) { damage.note(error); }));
  return std::make_shared<const GroupListing>(file_, std::move(links), opened->creation_order_indexed(),
                                              damage.error(kMissingLinks));
}

LinkTarget GroupContents::resolve(const format::Link& link, RequestBudget& budget) const {
  const unsigned depth_to_mount = depth_ + file_->depth();
  if (link.is(format::LinkType::Hard) && elements_) {
    auto object = file_->object(link.address, budget);
    if (!object) return {LinkTarget::Broken{std::move(object).error(), link.address}};
    return {*std::move(object)};
  }
  if (link.is(format::LinkType::Hard)) return resolve_hard(link, budget);
  if (link.is(format::LinkType::Soft)) return {soft_link_path(link.target, depth_)};
  if (auto unknown = format::unknown_external_form(link))
    return {LinkTarget::Broken{*std::move(unknown), format::kUndefinedAddress}};
  if (link.is(format::LinkType::External))
    return {external_link_path(file_->context().external->remember_link(*file_, link.file), link.target,
                               depth_to_mount)};
  return {user_defined_link_path(link.type, depth_to_mount)};
}

LinkTarget GroupContents::resolve_hard(const format::Link& link, RequestBudget& budget) const {
  auto object = file_->object(link.address, budget);
  if (!object) return {LinkTarget::Broken{std::move(object).error(), link.address}};
  if ((*object)->object.kind == object::ObjectKind::Group) return resolve_group(link, *object);
  return {*std::move(object)};
}

// A group is a directory only at its own path: as a directory at a second path, or below itself, it would
// make an endless tree.
LinkTarget GroupContents::resolve_group(const format::Link& link, const OpenedObjectPtr& object) const {
  const std::uint64_t address = link.address;
  if (address == file_->root_address()) return {SymlinkPath{.above = path_up(depth_)}};
  if (object->object.header->reference_count <= 1) {
    const auto place = file_->other_place(address, address_, link.name);
    return place ? LinkTarget{canonical_path(*place, depth_)} : LinkTarget{object};
  }
  const std::shared_ptr<const ObjectPaths> places = file_->object_paths();
  if (places->is_canonical(address, address_, link.name)) return {object};
  if (const auto names = places->names_to(address)) return {canonical_path(*names, depth_)};
  return {LinkTarget::Broken{
      {ErrorCode::LimitExceeded, "the walk that finds the group's path reached its limit"}, address}};
}

}  // namespace h5mount::tree

#include "damaged_lists.h"

#include "h5mount/object/list_damage.h"

namespace h5mount::tree {

namespace {

std::optional<Error> first_of(const FoundDamage& damage) {
  return damage.list ? damage.list : damage.entry;
}

// Damage is permanent and cached; what failed for a moment is not.
Result<FoundDamage> to_keep(FoundDamage found) {
  const std::optional<Error> first = first_of(found);
  if (first && (is_momentary(*first) || first->code() == ErrorCode::Stale)) return fail(*first);
  return found;
}

Result<FoundDamage> walk_links(const OpenedObject& object) {
  const auto group = opened_group(object);
  if (!group) return to_keep({group.error(), {}});
  object::ListDamage damage;
  damage.note((*group)->for_each([](const format::Link&) { return true; },
                                 [&](const Error& error) { damage.note(error); }));
  return to_keep({damage.error(kMissingLinks), {}});
}

Result<FoundDamage> walk_attributes(const OpenedObject& object) {
  object::ListDamage lost;
  std::optional<Error> value;
  const auto visit = [&](const object::Attribute& attribute) {
    if (attribute.damage && !value) value = attribute.damage->within("attribute " + attribute.name);
    return true;
  };
  lost.note(object::for_each_attribute(*object.snapshot, object.object, visit,
                                       [&](const Error& error) { lost.note(error); }));
  return to_keep({lost.error("attributes"), std::move(value)});
}

FoundDamage damage_of_attributes(const OpenedObject& object) {
  auto found = object.attributes_damage.get([&] { return walk_attributes(object); }, Unbounded());
  return found ? *std::move(found) : FoundDamage{found.error(), {}};
}

}  // namespace

Result<std::shared_ptr<const object::Group>> opened_group(const OpenedObject& object) {
  const auto open = [&]() -> Result<std::shared_ptr<const object::Group>> {
    H5_ASSIGN(std::shared_ptr<const object::Group> opened,
              object::Group::open(object.snapshot, object.object));
    return opened;
  };
  return object.group.get(open, Unbounded());
}

std::optional<Error> links_damage(const OpenedObject& object) {
  const auto found = object.links_damage.get([&] { return walk_links(object); }, Unbounded());
  return found ? first_of(*found) : std::optional(found.error());
}

std::optional<Error> lost_attributes(const OpenedObject& object) {
  return damage_of_attributes(object).list;
}

std::optional<Error> attributes_damage(const OpenedObject& object) {
  return first_of(damage_of_attributes(object));
}

}  // namespace h5mount::tree

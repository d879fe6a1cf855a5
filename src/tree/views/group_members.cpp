#include "group_members.h"

#include "../objects/damaged_lists.h"
#include "../objects/group_contents.h"
#include "h5mount/base/limits.h"
#include "h5mount/object/list_damage.h"
#include "h5mount/object/resolve_path.h"

namespace h5mount::tree {

namespace {

// The links in the order of a listing; empty if there are too many.
Result<std::shared_ptr<const GroupListing>> listed_links(ServedFile& file, const OpenedObject& group) {
  H5_ASSIGN(const std::shared_ptr<const object::Group> opened, opened_group(group));
  FoundLinks found;
  object::ListDamage damage;
  damage.note(opened->for_each(
      [&](const format::Link& link) {
        found.add(link);
        return found.links.size() <= limits::kMaxTableLinks;
      },
      [&](const Error& error) { damage.note(error); }));
  if (auto missing = damage.error(kMissingLinks)) return fail(*std::move(missing));
  if (found.links.size() > limits::kMaxTableLinks) found = {};
  return std::make_shared<const GroupListing>(file.shared_from_this(), std::move(found),
                                              opened->creation_order_indexed(), std::nullopt);
}

// The address of the object of this file that a link leads to; nullopt if it leads to none.
Result<std::optional<std::uint64_t>> address_of(const OpenedObject& group, const format::Link& link,
                                                object::PathWork& work) {
  if (link.is(format::LinkType::Hard)) return link.address;
  if (!link.is(format::LinkType::Soft)) return std::nullopt;
  const auto address = object::resolve_path(group.snapshot, group.object.address, link.target, work);
  if (address) return *address;
  const ErrorCode why = address.error().code();
  if (why == ErrorCode::NotFound || why == ErrorCode::LimitExceeded || why == ErrorCode::UnsupportedFeature)
    return std::nullopt;
  return fail(address.error());
}

}  // namespace

Result<bool> for_each_member(ServedFile& file, const OpenedObject& group, RequestBudget& budget,
                             const MemberVisit& visit) {
  H5_ASSIGN(const std::shared_ptr<const GroupListing> links, listed_links(file, group));
  budget.share_pauses(links->pauses());
  H5_ASSIGN(const std::shared_ptr<const object::Group> opened, opened_group(group));
  object::PathWork work{.budget = budget, .names_left = limits::kMaxTableLinks + 1};
  for (std::size_t i = 0; i < links->size(); ++i) {
    H5_TRY(budget.spend(kStepsPerLink));
    format::Link link = links->link(i);
    if (link.is(format::LinkType::Soft)) {
      H5_ASSIGN(link, opened->find(link.name));
    }
    H5_ASSIGN(const std::optional<std::uint64_t> address, address_of(group, link, work));
    if (work.names_left == 0) return false;
    if (!address) continue;
    H5_TRY(visit(std::move(link.name), file.object(*address, budget)));
  }
  return true;
}

}  // namespace h5mount::tree

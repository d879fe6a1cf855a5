#include "listings_ahead.h"

#include <algorithm>
#include <utility>

#include "group_contents.h"
#include "h5mount/object/walk_ahead.h"

namespace h5mount::tree {
namespace {

constexpr std::size_t kFirstWindow = 8, kGrowth = 8, kMaxWindow = 512;  // in links
constexpr std::size_t kMaxMeasured = 1024;
// The addresses of a parent that are kept here: all parents of a file take 1 MiB.
constexpr std::size_t kMaxParentLinks = 1U << 14;

}  // namespace

ListingsAhead::Parent* ListingsAhead::parent_at(std::uint64_t address) {
  const auto found = std::ranges::find(parents_, address, &Parent::address);
  return found == parents_.end() ? nullptr : &*found;
}

// Whether the parent's links are wanted now, of which a first group was listed before. `known`: they are
// kept.
bool ListingsAhead::needs_links(std::uint64_t group, std::uint64_t parent, bool& known) {
  const MutexLock lock(mutex_);
  Parent* const before = parent_at(parent);
  if (before == nullptr) {
    parents_[oldest_++ % parents_.size()] = {.address = parent, .last = group};
    return false;
  }
  known = before->links != nullptr;
  return std::exchange(before->last, group) != group;
}

// The groups that are to be asked for. A client that sorts names in another order than the file has them
// finds most of what it wants asked for all the same.
ListingsAhead::Addresses ListingsAhead::next(std::uint64_t group, std::uint64_t parent,
                                             std::shared_ptr<const Addresses> links) {
  const MutexLock lock(mutex_);
  Parent* const now = parent_at(parent);
  if (now == nullptr) return {};
  if (!now->links) now->links = std::move(links);
  if (!now->links) return {};
  const Addresses& all = *now->links;
  auto found = std::find(all.begin() + static_cast<std::ptrdiff_t>(now->at), all.end(), group);
  if (found == all.end()) found = std::find(all.begin(), all.end(), group);
  if (found == all.end()) return {};
  now->at = static_cast<std::size_t>(found - all.begin());
  if (now->window > 0 && now->at + now->window / 2 < now->asked) return {};
  now->window = now->window == 0 ? kFirstWindow : std::min(now->window * kGrowth, kMaxWindow);
  const std::size_t first = std::max(now->at, now->asked);
  now->asked = std::min(first + now->window, all.size());
  if (first >= now->asked) return {};
  return {all.begin() + static_cast<std::ptrdiff_t>(first),
          all.begin() + static_cast<std::ptrdiff_t>(now->asked)};
}

void ListingsAhead::will_list(const ServedFilePtr& file, std::uint64_t group, std::uint64_t parent) {
  bool known = false;
  if (parent == format::kUndefinedAddress || !needs_links(group, parent, known)) return;
  std::shared_ptr<Addresses> links;
  RequestBudget budget;
  if (!known) {
    const auto listing = GroupContents(file, parent, 0).list(budget);
    if (!listing || (*listing)->size() > kMaxParentLinks) return;
    links = std::make_shared<Addresses>();
    for (std::size_t i = 0; i < (*listing)->size(); ++i)
      if (const format::Link link = (*listing)->link(i); link.is(format::LinkType::Hard))
        links->push_back(link.address);
  }
  const Addresses wanted = next(group, parent, std::move(links));
  const auto what = measures() ? ahead::Wanted::Listing : ahead::Wanted::Links;
  if (!wanted.empty()) object::WalkAhead(file->metadata(), what).will_visit(wanted, budget);
}

void ListingsAhead::will_measure(const ServedFilePtr& file, std::uint64_t text, std::uint64_t parent) {
  {
    const MutexLock lock(mutex_);
    const std::uint64_t before = std::exchange(measured_, text);
    const bool one = before == format::kUndefinedAddress || before == text;
    if (one || measures_.exchange(true, std::memory_order_relaxed)) return;
    // The objects that were asked for ahead came without them.
    for (Parent& above : parents_) above.asked = above.at;
  }
  if (parent == format::kUndefinedAddress) return;
  // The group's listing did not ask for them, as it was not known that they are wanted.
  RequestBudget budget;
  const auto listing = GroupContents(file, parent, 0).list(budget);
  if (!listing) return;
  Addresses objects;
  for (std::size_t i = 0; i < std::min((*listing)->size(), kMaxMeasured); ++i)
    if (const format::Link link = (*listing)->link(i); link.is(format::LinkType::Hard))
      objects.push_back(link.address);
  ahead::prefetch(*file->metadata(), objects, ahead::Wanted::Listed, budget);
}

}  // namespace h5mount::tree

#include "s3_order.h"

#include <algorithm>
#include <bit>
#include <deque>

#include "../source/tags.h"

namespace h5mount::serve {
namespace {

constexpr std::chrono::seconds kKept{30};
// The time for which a directory is kept if nothing shows that it has changed.
constexpr std::chrono::seconds kKeptUntold{1};
constexpr std::uint64_t kStepsToCompare = 50;

// Holds the texts of names that the listing does not hold itself.
class NameTexts {
 public:
  std::string_view of(const tree::DirectoryListing& listing, std::size_t position) {
    std::string made;
    const std::string_view name = listing.at(position, made).name;
    if (name.data() < made.data() || name.data() > made.data() + made.size()) return name;
    return made_.emplace_back(name);
  }

 private:
  std::deque<std::string> made_;
};

Result<std::vector<std::uint32_t>> order_of(const tree::DirectoryListing& listing, RequestBudget& budget) {
  const auto count = static_cast<std::uint64_t>(listing.size());
  H5_TRY(budget.spend(count * kStepsToCompare * (1 + static_cast<std::uint64_t>(std::bit_width(count)))));
  NameTexts texts;
  std::vector<std::string_view> names(listing.size());
  std::vector<std::uint32_t> out(listing.size());
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    names[i] = texts.of(listing, i);
    out[i] = i;
  }
  const auto name = [&](std::uint32_t i) { return names[i]; };
  if (!std::ranges::is_sorted(out, {}, name)) std::ranges::sort(out, {}, name);
  return out;
}

}  // namespace

OrderedNames::OrderedNames(std::shared_ptr<const Snapshot> snapshot, front::NodeReference directory,
                           ListingPtr listing, std::vector<std::uint32_t> order)
    : snapshot_(std::move(snapshot)),
      directory_(std::move(directory)),
      listing_(std::move(listing)),
      order_(std::move(order)) {}

std::size_t OrderedNames::lower_bound(std::string_view name) const {
  const auto found = std::ranges::lower_bound(
      order_, name, {}, [&](std::uint32_t position) { return listing_->name_at(position); });
  return static_cast<std::size_t>(found - order_.begin());
}

std::optional<Error> trouble_of(tree::Tree& tree, tree::NodeId directory,
                                const tree::DirectoryListing& listing, RequestBudget& budget) {
  if (const Error* const damage = listing.damage()) return *damage;
  if (listing.size() > 0) return std::nullopt;
  const auto said = tree.get_xattr(directory, "user.hdf5.error", budget);
  return said ? std::optional(Error(ErrorCode::Io, *said)) : std::nullopt;
}

Result<OrderedNamesPtr> OrderCache::open(const std::shared_ptr<const Snapshot>& snapshot,
                                         front::NodeReference directory, RequestBudget& budget) {
  const tree::NodeId id = directory.id();
  if (opening_.exchange(snapshot->opening) != snapshot->opening) kept_.clear();
  const auto known = kept_.find(id);
  if (known && known->version == snapshot->version && known->until >= Clock::now() &&
      known->names->is_of(*snapshot))
    return known->names;
  H5_ASSIGN(ListingPtr listing, snapshot->listings->open(*snapshot->tree, id, snapshot->version, budget));
  H5_ASSIGN(std::vector<std::uint32_t> order, order_of(*listing, budget));
  const bool lasts = snapshot->tree->lasts(id);
  const bool told = !tag_of(*snapshot, id, {}, budget).empty();
  auto names = std::make_shared<const OrderedNames>(snapshot, std::move(directory), std::move(listing),
                                                    std::move(order));
  const Clock::time_point until = Clock::now() + (told ? kKept : kKeptUntold);
  if (lasts)
    kept_.insert(id, std::make_shared<const Kept>(Kept{snapshot->version, until, names}),
                 std::max(names->size(), kMaxNames / kMaxKept));
  return names;
}

}  // namespace h5mount::serve

#include "shared_listings.h"

namespace h5mount::serve {

Result<ListingPtr> SharedListings::open(tree::Tree& tree, tree::NodeId directory, const std::string& version,
                                        RequestBudget& budget) {
  const auto made = [&] { return tree.open_directory(directory, budget); };
  // A listing that may differ although the file does not change is always made anew.
  if (!tree.lasts(directory)) return made();
  std::shared_ptr<Once> once;
  {
    const MutexLock lock(mutex_);
    std::erase_if(listings_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<Once>& known = listings_[{directory, version}];
    once = known.lock();
    if (!once) known = once = std::make_shared<Once>();
  }
  H5_ASSIGN(const ListingPtr listing, once->get(made, budget));
  // The result keeps `once` as long as a client uses the listing.
  return ListingPtr(std::move(once), listing.get());
}

}  // namespace h5mount::serve

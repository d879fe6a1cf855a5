// Listings of directories as JSON and as HTML. They are made entry by entry as they are sent, so that a
// directory of any length takes the same memory.
#pragma once

#include <string>
#include <vector>

#include "body.h"
#include "h5mount/front/path_walk.h"

namespace h5mount::serve {

enum class ListingForm { Json, Html };

// The entries of a directory. `path`: that of the URL, decoded, without slashes at its ends. What cannot be
// looked up is listed without its facts; where the listing itself is damaged, an entry at its end says why.
Result<BodyPtr> make_listing(std::shared_ptr<const Snapshot> snapshot, front::FoundNode directory,
                             const std::string& path, ListingForm form);

// Directories by name alone: the sources.
BodyPtr make_name_listing(const std::vector<std::string>& names, ListingForm form);

// A listing of at most so many entries is made before it is sent: it has a size and can be compressed.
inline constexpr std::size_t kMaxWholeListing = 5000;

}  // namespace h5mount::serve

// Listings of directories as JSON and as HTML. They are made entry by entry as they are sent, so that a
// listing of any length takes the same memory; a short one is made before it is sent, so that it has a size
// and can be compressed.
#pragma once

#include <string>
#include <vector>

#include "../http/body.h"
#include "../source/source.h"
#include "h5mount/front/path_walk.h"

namespace h5mount::serve {

// Html: names, dates and sizes in the form of nginx, for programs. Table: for people, with the facts of each
// object. Files: a table of the files in a directory, which are not opened; entries are links to the files'
// pages.
enum class ListingForm { Json, Html, Table, Files };

// Lists the entries of a directory. `path` is that of the URL, decoded, without slashes at its ends. An entry
// that cannot be looked up is listed without its facts; if the listing itself is damaged, an entry at its end
// says why.
Result<BodyPtr> make_listing(std::shared_ptr<const Snapshot> snapshot, front::FoundNode directory,
                             const std::string& path, ListingForm form, RequestWork& work);

// Lists directories by name alone: the sources.
BodyPtr make_name_listing(const std::vector<std::string>& names, ListingForm form);

}  // namespace h5mount::serve

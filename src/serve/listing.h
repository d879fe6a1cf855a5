// Listings of directories as JSON and as HTML. They are made entry by entry as they are sent, so that a
// directory of any length takes the same memory; one that is short is made before, so that it has a size and
// can be compressed.
#pragma once

#include <string>
#include <vector>

#include "body.h"
#include "h5mount/front/path_walk.h"

namespace h5mount::serve {

// Html: names, dates and sizes in the form of nginx, for programs. Table: for people, with what each object
// is. Files: the same of what lies between files, none of which is opened; they lead to their pages.
enum class ListingForm { Json, Html, Table, Files };

// The entries of a directory. `path`: that of the URL, decoded, without slashes at its ends. What cannot be
// looked up is listed without its facts; where the listing itself is damaged, an entry at its end says why.
Result<BodyPtr> make_listing(std::shared_ptr<const Snapshot> snapshot, front::FoundNode directory,
                             const std::string& path, ListingForm form, RequestWork& work);

// Directories by name alone: the sources.
BodyPtr make_name_listing(const std::vector<std::string>& names, ListingForm form);

}  // namespace h5mount::serve

// The description of an object that the page shows: a JSON object.
#pragma once

#include <string>

#include "h5mount/front/path_walk.h"
#include "request_work.h"
#include "source.h"

namespace h5mount::serve {

// {"path","href","source","type","size","mtime","xattrs":{…},"views":[{"name","href"}…],"slices":HREF,…}.
// Each reference is relative to the request; `source`: of the source's root, with a slash at its end. What
// cannot be read of single attributes is in "errors".
std::string describe_node(const Snapshot& snapshot, const front::FoundNode& found, const std::string& source,
                          RequestWork& work);

}  // namespace h5mount::serve

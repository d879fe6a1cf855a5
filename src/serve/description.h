// The description of an object that the page shows: a JSON object.
#pragma once

#include <string>

#include "h5mount/front/path_walk.h"
#include "source.h"

namespace h5mount::serve {

// {"path","type","size","mtime","xattrs":{…},"views":[{"name","href"}…],"slices":HREF,…}. `prefix`: the path
// of the source in URLs, empty or `/NAME`. Errors of single attributes are in "errors".
std::string describe_node(const Snapshot& snapshot, const front::FoundNode& found, const std::string& prefix);

}  // namespace h5mount::serve

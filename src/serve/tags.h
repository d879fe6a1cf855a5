// Entity tags. A tag is of one URL: it differs whenever the bytes there may. Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "source.h"

namespace h5mount::serve {

// The tag of a node at a path without symlinks, quoted and strong: made of the version of the source's file.
// Empty where the bytes may come from another file, whose changes that version does not tell: data of virtual
// datasets, data in external files, and what is behind external links. `variant` tells apart what one URL is
// answered with.
std::string etag_of(const Snapshot& snapshot, std::string_view path, tree::NodeId node, tree::NodeType type,
                    std::string_view variant = {});

}  // namespace h5mount::serve

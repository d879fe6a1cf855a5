// Entity tags. A tag is of one URL: it differs whenever the bytes there may. Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "source.h"

namespace h5mount::serve {

// The tag of a node, quoted and strong: made of the version of the file that it is of. Empty where what it
// shows may come from another file, whose changes that version does not tell (Tree::sources_of). `variant`
// tells apart what one URL is answered with.
std::string tag_of(const Snapshot& snapshot, tree::NodeId node, std::string_view variant,
                   RequestBudget& budget);

}  // namespace h5mount::serve

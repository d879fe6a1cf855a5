// Entity tags. A tag belongs to one URL: it differs whenever the bytes there may differ. Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "../http/body.h"
#include "source.h"

namespace h5mount::serve {

// The tag of a node, quoted and strong: made from the version of the file that the node belongs to. Empty if
// the node may show bytes of another file, whose changes that version does not show (Tree::sources_of).
// `variant` distinguishes the answers of one URL.
std::string tag_of(const Snapshot& snapshot, tree::NodeId node, std::string_view variant,
                   RequestBudget& budget);

// Names a text that is whole, and was made from what has no version, by its own bytes. Returns an empty tag
// for one that is made while it is sent.
Result<std::string> tag_of_text(BodyPtr& body, RequestWork& work);

}  // namespace h5mount::serve

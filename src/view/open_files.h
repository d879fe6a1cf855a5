// OpenNodes: what an open file reads from.
#pragma once

#include <memory>
#include <string>

#include "h5mount/view/tree.h"

namespace h5mount {

// A text held in memory as long as the file is open.
std::shared_ptr<OpenNode> open_text(std::string text);
// One that several share.
std::shared_ptr<OpenNode> open_text(std::shared_ptr<const std::string> text);

}  // namespace h5mount

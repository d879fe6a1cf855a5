// Open files whose bytes are a text in memory.
#pragma once

#include <memory>
#include <string>

#include "h5mount/tree/tree.h"

namespace h5mount::tree {

// A text held in memory as long as the file is open.
std::shared_ptr<OpenNode> open_text(std::string text);
// One that several share, or that does something when it goes. `sized`: false where a stat made before did
// not know the size, so that the kernel must not use it.
std::shared_ptr<OpenNode> open_text(std::shared_ptr<const std::string> text, bool sized = true);

}  // namespace h5mount::tree

// Open files whose bytes are a text in memory.
#pragma once

#include <memory>
#include <string>

#include "h5mount/tree/tree.h"

namespace h5mount::tree {

// A text held in memory as long as the file is open.
std::shared_ptr<OpenNode> open_text(std::string text);
// One that several share.
std::shared_ptr<OpenNode> open_text(std::shared_ptr<const std::string> text);

// Adds the bytes [offset, offset + length) of a text, as far as it has them; `out` keeps the text.
void add_part(const std::shared_ptr<const std::string>& text, std::uint64_t offset, std::uint64_t length,
              dataset::Pieces& out);

}  // namespace h5mount::tree

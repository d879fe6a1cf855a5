// Open files whose content is a text in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "h5mount/tree/tree.h"

namespace h5mount::tree {

// The text is held in memory as long as the file is open.
std::shared_ptr<OpenNode> open_text(std::string text);
// A text of `size` bytes that is held in other ways: `read` adds some of them, cut at the end, to `out`.
using ReadText = std::function<void(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out)>;
std::shared_ptr<OpenNode> open_text(std::uint64_t size, ReadText read, bool sized);
// A text that several share, or that has an effect when it is destroyed. `sized`: false where an earlier stat
// did not know the size, so that the kernel must not use it.
std::shared_ptr<OpenNode> open_text(std::shared_ptr<const std::string> text, bool sized = true);

}  // namespace h5mount::tree

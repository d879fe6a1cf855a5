// Open files without holes, and those whose content is a text in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "h5mount/tree/tree.h"

namespace h5mount::tree {

// Fails (ENXIO) if `offset` is at or beyond the end of the file.
inline Status check_below_end(std::uint64_t offset, std::uint64_t size) {
  if (offset < size) return {};
  return fail({ErrorCode::NotFound, "beyond the end"});
}

// A file without holes: all of its bytes are data.
class OpenWithoutHoles : public OpenNode {
 public:
  Result<std::uint64_t> seek_data(std::uint64_t offset, RequestBudget&) final {
    H5_TRY(check_below_end(offset, size()));
    return offset;
  }
  Result<std::uint64_t> seek_hole(std::uint64_t offset, RequestBudget&) final {
    const std::uint64_t end = size();
    H5_TRY(check_below_end(offset, end));
    return end;
  }

 private:
  virtual std::uint64_t size() const = 0;  // at this moment
};

// The text is held in memory as long as the file is open.
std::shared_ptr<OpenNode> open_text(std::string text);
// A text of `size` bytes that is held otherwise: `read` appends a range of it, cut at the end, to `out`.
using ReadText = std::function<Status(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out)>;
std::shared_ptr<OpenNode> open_text(std::uint64_t size, ReadText read, bool sized);
// A text that is shared, or that has an effect when it is destroyed. `sized`: false if an earlier stat did
// not know the size, so that the kernel must not use it.
std::shared_ptr<OpenNode> open_text(std::shared_ptr<const std::string> text, bool sized = true);

}  // namespace h5mount::tree

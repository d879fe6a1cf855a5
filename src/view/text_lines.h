// The view text/: an element a line, or, of numbers in more than one dimension, a row of the last dimension
// with single spaces; strings without quotes.
#pragma once

#include "h5mount/view/text_lines.h"

namespace h5mount::view {

std::optional<std::string> text_unfit(const object::DatasetDescription& dataset);
std::optional<std::uint64_t> text_size(const object::DatasetDescription& dataset);
Result<ComputedFilePtr> make_text(Source source, const ComputedFile* before,
                                  std::span<const dataset::ByteRange> stale);

}  // namespace h5mount::view

// The view text/: each element is a line or, for numbers in more than one dimension, each row of the last
// dimension, separated by single spaces; strings are not quoted.
#pragma once

#include "h5mount/view/text_lines.h"

namespace h5mount::view {

Result<std::optional<std::string>> text_unfit(const object::DatasetDescription& dataset,
                                              RequestBudget& budget);
Result<std::optional<std::uint64_t>> text_size(const object::DatasetDescription& dataset,
                                               RequestBudget& budget);
Result<ComputedFilePtr> make_text(Source source, const ComputedFile* before,
                                  std::span<const dataset::ByteRange> stale, RequestBudget& budget);

}  // namespace h5mount::view

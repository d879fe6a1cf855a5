// TIFF (Adobe, revision 6.0) and BigTIFF: a dataset as an image or a stack of images, its elements as they
// are stored.
#pragma once

#include "h5mount/view/view.h"

namespace h5mount::view {

Result<std::optional<std::string>> tiff_unfit(const object::DatasetDescription& dataset,
                                              RequestBudget& budget);
Result<std::optional<std::uint64_t>> tiff_size(const object::DatasetDescription& dataset,
                                               RequestBudget& budget);
Result<ComputedFilePtr> make_tiff(Source source, const ComputedFile* before,
                                  std::span<const dataset::ByteRange> stale, RequestBudget& budget);

}  // namespace h5mount::view

// Makes a pipeline from a filter pipeline message. The modules `format` and `filter` do not include each
// other.
#pragma once

#include <memory>
#include <span>

#include "h5mount/filter/filter.h"
#include "h5mount/format/filter_pipeline.h"

namespace h5mount::metadata {

// `most_bytes`: the size of the largest block with its filters undone. Errors: those of FilterPipeline::make.
Result<std::shared_ptr<const filter::FilterPipeline>> make_filter_pipeline(
    std::span<const format::FilterDescription> filters, std::uint64_t most_bytes);

}  // namespace h5mount::metadata

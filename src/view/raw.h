// The elements as they are stored, or as text where their type has no byte form (text_lines.h): of parts of
// datasets, as the file's own tree shows whole ones.
#pragma once

#include "h5mount/view/view.h"

namespace h5mount::view {

std::optional<std::string> raw_unfit(const object::DatasetDescription& dataset);
std::optional<std::uint64_t> raw_size(const object::DatasetDescription& dataset);
Result<ComputedFilePtr> make_raw(Source source, const ComputedFile* before,
                                 std::span<const dataset::ByteRange> stale);

}  // namespace h5mount::view

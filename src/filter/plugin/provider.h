// Where the registry asks for filters that it cannot decode itself.
#pragma once

#include "../filters.h"

namespace h5mount::filter {

// NotFound where plugins were not asked for, or none has this filter. Else a filter whose decoding runs in
// helpers, or why there can be none.
Result<FilterPtr> make_plugin_filter(const FilterSpec& spec, std::size_t chunk_bytes);

}  // namespace h5mount::filter

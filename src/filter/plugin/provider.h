// Filters from plugins, for the registry.
#pragma once

#include "../filters.h"

namespace h5mount::filter {

// A filter that decodes in helper processes. Fails with NotFound if plugins are disabled or none has this
// filter; else with the reason why no helper can be started.
Result<FilterPtr> make_plugin_filter(const FilterSpec& spec, std::size_t chunk_bytes);

}  // namespace h5mount::filter

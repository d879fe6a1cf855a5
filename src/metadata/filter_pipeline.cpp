#include "h5mount/metadata/filter_pipeline.h"

namespace h5mount {

Result<std::shared_ptr<const FilterPipeline>> make_filter_pipeline(std::span<const FilterDescription> filters,
                                                                   std::uint64_t most_bytes) {
  std::vector<FilterSpec> specs;
  specs.reserve(filters.size());
  for (const FilterDescription& filter : filters)
    specs.push_back({filter.id, filter.name, filter.client_data});
  return FilterPipeline::make(specs, static_cast<std::size_t>(most_bytes));
}

}  // namespace h5mount

#include "h5mount/metadata/filter_pipeline.h"

namespace h5mount::metadata {

Result<std::shared_ptr<const filter::FilterPipeline>> make_filter_pipeline(
    std::span<const format::FilterDescription> filters, std::uint64_t most_bytes) {
  std::vector<filter::FilterSpec> specs;
  specs.reserve(filters.size());
  for (const format::FilterDescription& filter : filters)
    specs.push_back({filter.id, filter.name, filter.client_data});
  return filter::FilterPipeline::make(specs, static_cast<std::size_t>(most_bytes));
}

}  // namespace h5mount::metadata

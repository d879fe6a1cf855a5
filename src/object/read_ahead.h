// Asks a far source for the structures of a listing together, before they are walked (metadata/prefetch.h).
#pragma once

#include <span>

#include "h5mount/metadata/prefetch.h"

namespace h5mount::object {

inline void read_ahead(const metadata::FileMetadata& file, std::span<const metadata::StructureAt> first,
                       unsigned levels = 64) {
  if (!file.source()->far()) return;
  RequestBudget budget;
  metadata::prefetch(file, first, budget, levels);
}

}  // namespace h5mount::object

#include "tags.h"

#include <fmt/format.h>

namespace h5mount::serve {

std::string tag_of(const Snapshot& snapshot, tree::NodeId node, std::string_view variant,
                   RequestBudget& budget) {
  const bool own = snapshot.plain || tree::shows_own_file_alone(*snapshot.tree, node, budget);
  if (snapshot.version.empty() || !own) return {};
  return fmt::format("\"{}{}{}\"", snapshot.version, variant.empty() ? "" : "-", variant);
}

}  // namespace h5mount::serve

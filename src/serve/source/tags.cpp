#include "tags.h"

#include <fmt/format.h>

#include "h5mount/base/hash.h"

namespace h5mount::serve {

std::string tag_of(const Snapshot& snapshot, tree::NodeId node, std::string_view variant,
                   RequestBudget& budget) {
  const bool own = snapshot.plain || tree::shows_own_file_alone(*snapshot.tree, node, budget);
  if (snapshot.version.empty() || !own) return {};
  return fmt::format("\"{}{}{}\"", snapshot.version, variant.empty() ? "" : "-", variant);
}

Result<std::string> tag_of_text(BodyPtr& body, RequestWork& work) {
  if (!body->size()) return std::string();
  H5_ASSIGN(std::string text, read_all(*body, work));
  std::string tag = fmt::format("\"{:x}\"", fnv1a(text));
  body = make_text_body(std::move(text));
  return tag;
}

}  // namespace h5mount::serve

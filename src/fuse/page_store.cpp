#include "page_store.h"

namespace h5mount::fuse {

bool store_pages(tree::KernelPages& kernel, tree::NodeId node, const std::function<bool()>& as_opened,
                 std::span<const PreparedPages> pages, Counters& counters) {
  constexpr std::uint64_t kPage = 4096;
  if (!as_opened()) return false;
  bool kernel_only = false, taken = true;
  for (const auto& [begin, pieces] : pages) {
    kernel_only = kernel_only || pieces.kernel_only();
    taken = kernel.store(node, begin, pieces);
    if (!taken) break;
    Counters::add(counters.pages_handed_on, (pieces.total() + kPage - 1) / kPage);
  }
  if (!kernel_only || as_opened()) return taken;
  // The file was written while the kernel copied.
  kernel.invalidate(node, {{0, format::kUnlimited}});
  return false;
}

}  // namespace h5mount::fuse

#include "page_store.h"

namespace h5mount::fuse {

bool store_pages(const PageTarget& target, std::span<const PreparedPages> pages) {
  constexpr std::uint64_t kPage = 4096;
  if (!target.as_opened()) return false;
  bool kernel_only = false, taken = true;
  for (const auto& [begin, pieces] : pages) {
    kernel_only = kernel_only || pieces.kernel_only();
    taken = target.kernel->store(target.node, begin, pieces);
    if (!taken) break;
    Counters::add(target.counters->pages_handed_on, (pieces.total() + kPage - 1) / kPage);
  }
  if (!kernel_only || target.as_opened()) return taken;
  // The file was written while the kernel copied.
  target.kernel->invalidate(target.node, {{0, format::kUnlimited}});
  return false;
}

}  // namespace h5mount::fuse

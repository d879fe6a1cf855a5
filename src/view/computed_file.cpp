#include <algorithm>

#include "h5mount/view/view.h"

namespace h5mount::view {

std::vector<dataset::ByteRange> ComputedFile::stale_since(const ComputedFile&,
                                                          std::span<const dataset::ByteRange>) const {
  return {{0, format::kUnlimited}};
}

Result<std::uint64_t> ComputedFile::find_hole(std::uint64_t, RequestBudget&) const {
  return size();
}

void add_text(const std::shared_ptr<const std::string>& text, std::uint64_t offset, std::uint64_t length,
              dataset::Pieces& out) {
  if (offset >= text->size()) return;
  const auto begin = static_cast<std::size_t>(offset);
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(length, text->size() - begin));
  out.add(as_bytes(*text).subspan(begin, count), text);
}

}  // namespace h5mount::view

#include "structure_ranges.h"

#include <algorithm>
#include <utility>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/structures.h"

namespace h5mount::check {

namespace {

using structures::kExtensibleArrayDataBlock, structures::kExtensibleArrayDataBlockPage;
using structures::kFixedArrayDataBlock, structures::kFixedArrayDataBlockPage;

// Structures whose parts are read by other names.
bool is_part(const StructureRange& inner, const StructureRange& outer) {
  if (inner.end > outer.end) return false;
  const auto named = [&](std::string_view one, std::string_view other) {
    return inner.structure == one && outer.structure == other;
  };
  return named(kFixedArrayDataBlockPage, kFixedArrayDataBlock) ||
         named(kExtensibleArrayDataBlockPage, kExtensibleArrayDataBlock);
}

}  // namespace

void StructureRanges::add(std::uint64_t address, std::uint64_t bytes, std::string_view structure) {
  const auto end = checked_add(address, bytes);
  if (!end || full_) return;
  if (!ranges_.empty() && ranges_.back().begin == address && ranges_.back().structure == structure) {
    ranges_.back().end = std::max(ranges_.back().end, *end);
    return;
  }
  if (ranges_.size() == kMost) {
    finish();
    full_ = ranges_.size() > kMost / 2;
  }
  ranges_.push_back({address, *end, structure});
}

void StructureRanges::finish() {
  // Notes without a name come first, and belong to what else begins there.
  std::ranges::sort(ranges_, {},
                    [](const StructureRange& one) { return std::pair(one.begin, one.structure); });
  std::vector<StructureRange> joined;
  for (const StructureRange& one : ranges_) {
    StructureRange* const last = joined.empty() ? nullptr : &joined.back();
    if (last == nullptr || last->begin != one.begin ||
        (last->structure != one.structure && !last->structure.empty())) {
      joined.push_back(one);
      continue;
    }
    last->structure = one.structure;
    last->end = std::max(last->end, one.end);
  }
  std::erase_if(joined, [](const StructureRange& one) { return one.begin == one.end; });  // not decoded
  ranges_ = std::move(joined);
  // Of those that begin at one place, the largest is the outer one.
  std::ranges::sort(ranges_, {}, [](const StructureRange& one) { return std::pair(one.begin, ~one.end); });
}

void StructureRanges::for_each_overlap(
    const std::function<void(const StructureRange&, const StructureRange&)>& visit) const {
  std::vector<const StructureRange*> around;  // those that the next one may lie in, the innermost one last
  std::size_t met = 0;
  for (const StructureRange& one : ranges_) {
    if (met == limits::kMaxFindings) return;
    while (!around.empty() && around.back()->end <= one.begin) around.pop_back();
    if (!around.empty() && !is_part(one, *around.back())) ++met, visit(*around.back(), one);
    around.push_back(&one);
  }
}

void StructureRanges::for_each_overlap(
    std::span<const Extent> data,
    const std::function<void(const StructureRange&, const Extent&)>& visit) const {
  auto structure = ranges_.begin();
  const StructureRange* widest = nullptr;  // of those that begin before the end of the raw data
  std::size_t met = 0;
  for (const Extent& extent : data) {
    if (met == limits::kMaxFindings) return;
    for (; structure != ranges_.end() && structure->begin < extent.end; ++structure)
      if (widest == nullptr || structure->end > widest->end) widest = &*structure;
    if (widest != nullptr && widest->end > extent.begin && widest->begin < extent.end)
      ++met, visit(*widest, extent);
  }
}

}  // namespace h5mount::check

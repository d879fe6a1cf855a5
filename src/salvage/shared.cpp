// Tells of datasets that have bytes in common: a writer whose disk was full, or that was killed, leaves such
// ones, and some of them have the bytes of another.
#include <utility>

#include "h5mount/base/checked.h"
#include "salvager.h"

namespace h5mount::salvage {
namespace {

bool touches(const UsedRanges& shared, std::uint64_t begin, std::uint64_t bytes) {
  return shared.touches(begin, checked_add(begin, bytes).value_or(~std::uint64_t{0}));
}

// Follows the index as far as it goes. True also if no steps are left to follow it.
bool has_shared_chunk(SalvageState& state, const OpenedDataset& dataset, const UsedRanges& shared) {
  const chunk::ChunkGeometry& geometry = dataset.geometry;
  const format::DataLayout& layout = dataset.description.layout;
  if (geometry.chunk_bytes == 0) return false;
  if (layout.index == format::ChunkIndexKind::Implicit) {
    const auto count = chunk_count(geometry, state.end / geometry.chunk_bytes);
    return count && touches(shared, layout.address, *count * geometry.chunk_bytes);
  }
  const auto index = chunk::open_chunk_index(state.file, layout, geometry);
  if (!index) return false;
  bool has = false;
  (void)(*index)->for_each([&](std::span<const std::uint64_t>, const chunk::ChunkRecord& record) {
    has = !state.spend(1) || touches(shared, record.address, record.stored_size);
    return !has && state.go_on();
  });
  return has;
}

bool has_shared(SalvageState& state, const OpenedDataset& opened, const UsedRanges& shared) {
  const object::DatasetDescription& dataset = opened.description;
  if (dataset.layout.cls == format::LayoutClass::Chunked) return has_shared_chunk(state, opened, shared);
  if (!is_contiguous(dataset)) return false;
  const bool fits = range_within(dataset.layout.address, dataset.image_bytes, state.data.end);
  return touches(fits ? shared : state.data.ranges, dataset.layout.address, dataset.image_bytes);
}

}  // namespace

void Salvager::note_shared() {
  state_.data.ranges.settle();
  const UsedRanges shared = state_.data.ranges.shared();
  const auto tell = [&](std::uint64_t address) {
    state_.findings.note(address, Certainty::Guessed, "bytes that another dataset has too");
  };
  const Surveyed& walked = reachable_->result();
  for (const DamagedDataset& one : walked.datasets) {
    if (!state_.go_on()) return;
    const auto dataset = state_.describe(one.address);
    if (dataset && (shared.count() > 0 || is_contiguous(dataset->description)) &&
        has_shared(state_, *dataset, shared))
      tell(one.address);
  }
  const auto rebuilt = std::exchange(state_.rebuilt, {});
  if (shared.count() == 0) return;
  for (const auto& [address, chunks] : rebuilt) {
    bool has = false;
    chunks.within(0, state_.end,
                  [&](const Range& range) { has = has || shared.touches(range.begin, range.end); });
    if (has) tell(address);
  }
  for (const std::uint64_t address : datasets_beside(walked)) {
    if (!state_.go_on()) return;
    const auto dataset = state_.describe(address);
    if (dataset && has_shared(state_, *dataset, shared)) tell(address);
  }
}

}  // namespace h5mount::salvage

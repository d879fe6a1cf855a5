#include "followed_variable.h"

#include <algorithm>

#include "h5mount/base/momentary.h"
#include "h5mount/dataset/padded_dataset.h"
#include "zarr_variable.h"

namespace h5mount::tree {

namespace {

// Whether offsets in the images of the two mean the same elements: all dimensions but the first are alike.
bool same_rows(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  return a.size() == b.size() && (a.empty() || std::equal(a.begin() + 1, a.end(), b.begin() + 1));
}

}  // namespace

Result<DatasetDescriptionPtr> FollowedVariable::lengthened(const DatasetDescriptionPtr& stated,
                                                           RequestBudget& budget) {
  if (dataset_.is_virtual()) set_virtual();
  const std::vector<std::uint64_t>& own = stated->space.dims;
  H5_ASSIGN(const OpenedObjectPtr object, file()->object(address(), budget));
  const std::uint64_t snapshot = object->snapshot->number();
  Extent extent;
  {
    const MutexLock lock(mutex_);
    extent = known_;
  }
  if (extent.snapshot != snapshot || extent.own != own) {
    const MomentaryWatch watch;  // a scale that cannot be read for a moment would leave it short for good
    H5_ASSIGN(const Variable variable, watch.unless_met(variable_of(*file(), *object, stated, budget)));
    extent = {snapshot, own, variable.description->space.dims};
    const MutexLock lock(mutex_);
    known_ = extent;
  }
  if (extent.whole == own) return stated;
  H5_ASSIGN(auto padded, dataset::PaddedDataset::describe(*stated, std::move(extent.whole)));
  return std::make_shared<const object::DatasetDescription>(std::move(padded));
}

Result<DatasetDescriptionPtr> FollowedVariable::newest_description(RequestBudget& budget, bool measured) {
  H5_ASSIGN(const DatasetDescriptionPtr stated, dataset_.newest_description(budget, measured));
  return lengthened(stated, budget);
}

Result<DataStatePtr> FollowedVariable::newest(RequestBudget& budget) {
  States::StatePtr state = states_.newest();
  if (!state || grows()) {
    Of now;
    H5_ASSIGN(now.dataset, dataset_.newest(budget));
    const DatasetDescriptionPtr stated(now.dataset->reader, &now.dataset->reader->description());
    H5_ASSIGN(now.description, lengthened(stated, budget));
    state = states_.advance(std::move(now), [](const States::State& newest, Of& of) {
      // Another request may have found a later state.
      if (newest.of.dataset->number > of.dataset->number) of = newest.of;
      const bool changed = of.description->space.dims != newest.of.description->space.dims;
      of.changes = newest.of.changes + (changed ? 1 : 0);
      return changed || of.dataset->number > newest.of.dataset->number;
    });
  }
  return state->value.get([&]() -> Result<States::ValuePtr> { return make(*state); }, budget);
}

std::uint64_t FollowedVariable::newest_number() const {
  const States::StatePtr state = states_.newest();
  return dataset_.newest_number() + (state ? state->of.changes : 0);
}

FollowedVariable::States::ValuePtr FollowedVariable::make(const States::State& state) const {
  const Of& of = state.of;
  const DatasetReaderPtr& reader = of.dataset->reader;
  auto made = std::make_shared<VariableState>();
  made->dataset = of.dataset;
  made->number = of.dataset->number + of.changes;
  made->followed = of.dataset->followed;
  made->reader = of.description->space.dims == reader->description().space.dims
                     ? reader
                     : std::make_shared<const dataset::PaddedDataset>(
                           reader, *of.description, view::netcdf_fill_element(reader->description()));
  const VariableState* const before = state.before.get();
  if (before == nullptr || before->followed != made->followed) {
    if (state.number > 1) made->stale.add(made->number, {{dataset::kWholeImage}});
    return made;
  }
  made->stale = before->stale;
  std::vector<dataset::ByteRange> stale{dataset::kWholeImage};
  const auto& dims = made->reader->description().space.dims;
  if (same_rows(dims, before->reader->description().space.dims) &&
      same_rows(dims, before->dataset->reader->description().space.dims) &&
      same_rows(dims, reader->description().space.dims)) {
    stale = of.dataset->stale.since(before->dataset->number);
    const std::uint64_t end = before->dataset->reader->size();
    if (end < reader->size()) stale.push_back({end, reader->size()});  // what was padding until now
  }
  made->stale.add(made->number, stale);
  return made;
}

}  // namespace h5mount::tree

#include "followed_bytes.h"

#include <unistd.h>

#include "h5mount/base/sole_turn.h"
#include "open_nodes.h"

namespace h5mount::tree {

namespace {

DatasetDescriptionPtr shared_description(const DataState& data) {
  return {data.reader, &data.reader->description()};
}

}  // namespace

Result<FollowedBytes::StatePtr> FollowedBytes::newest(RequestBudget& budget) {
  H5_ASSIGN(const DataStatePtr data, data_.newest(budget));
  const auto state = states_.advance(data, [](const States::State& newest, const DataStatePtr& of) {
    return of->number > newest.of->number;
  });
  if (auto made = state->value.peek()) return *std::move(made);
  return state->value.get_once([&] { return make(*state, budget); }, budget);
}

Result<FollowedBytes::StatePtr> FollowedBytes::make(const States::State& state, RequestBudget& budget) const {
  static const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const State* const before = state.before.get();
  auto made = std::make_shared<State>(State{.data = state.of, .shown = state.of->reader});
  std::vector<dataset::ByteRange> stale;  // of what is shown
  if (before != nullptr) stale = state.of->stale.since(before->data->number);
  if (of_.derivation) {
    H5_ASSIGN(made->shown, of_.derivation->open(state.of->reader));
    if (before != nullptr) stale = of_.derivation->stale_since(*made->shown, *before->shown, stale);
  }
  const ServedFilePtr& file = data_.file();
  H5_ASSIGN(made->file, of_.view->make({made->shown, file->value_environment(file->file()->reread()),
                                        file->context().environment, file->file()},
                                       {before != nullptr ? before->file.get() : nullptr, stale}, budget));
  made->image = made->file->image();
  if (const Error* const damage = made->file->damage()) file->report(file->path_of(data_.place()), *damage);
  if (before == nullptr) {
    // An earlier state may be made, and published, meanwhile.
    if (state.number > 1) made->stale.add(state.of->number, {{dataset::kWholeImage}});
    return made;
  }
  made->stale = before->stale;
  stale = made->file->stale_since(*before->file, stale);
  // The page that contains the old end is stale too: the kernel has filled it up with zeros.
  const std::uint64_t end = before->file->size();
  if (made->file->size() != end) stale.push_back({end / kPage * kPage, format::kUnlimited});
  made->stale.add(state.of->number, stale);
  return made;
}

SizePublisher& FollowedBytes::publisher() {
  std::shared_ptr<SizePublisher> known = publisher_.load();
  if (!known) {
    auto made = std::make_shared<SizePublisher>();
    if (publisher_.compare_exchange(known, made)) known = std::move(made);
  }
  return *known;
}

Result<std::optional<std::uint64_t>> FollowedBytes::size_by_shape(const object::DatasetDescription& data,
                                                                  RequestBudget& budget) const {
  if (!of_.derivation) return of_.view->size(data, budget);
  H5_ASSIGN(const object::DatasetDescription part, of_.derivation->describe(data));
  return of_.view->size(part, budget);
}

// The size that was published last; if none was, that of the newest state that was made.
std::optional<std::uint64_t> FollowedBytes::known_size() {
  const auto newest = states_.newest();
  if (!newest) return std::nullopt;
  if (const auto published = publisher().size()) return published;
  const StatePtr known = states_.newest_value();
  return known ? std::optional(known->file->size()) : std::nullopt;
}

DatasetDescriptionPtr FollowedBytes::measure(StatDepth depth, NodeStat& stat, NodeId node,
                                             RequestBudget& budget) {
  const bool listed = depth == StatDepth::Listing;
  if (states_.newest() && !listed) {
    // While one request makes the newest state, others get the size that is published.
    const SoleTurn turn(measuring_);
    const StatePtr known = turn.mine() || !data_.grows() ? nullptr : states_.newest_value();
    const auto published = known ? publisher().size() : std::nullopt;
    if (!published) return publish(stat, node, budget);
    set_size(stat, *published);
    stat.complete = false;
    return shared_description(*known->data);
  }
  const auto opened = known_size();
  const bool grows = data_.grows();
  // The kernel may see a later size only after it was published.
  if (opened && (!grows || data_.context().open_nodes->kernel())) {
    set_size(stat, *opened);
    stat.complete = !grows;
    const StatePtr known = states_.newest_value();
    return known ? shared_description(*known->data) : nullptr;
  }
  auto described = data_.newest_description(budget, !listed);
  const auto size = described ? size_by_shape(**described, budget)
                              : Result<std::optional<std::uint64_t>>(fail(described.error()));
  if (!size) {
    if (is_passing(size.error())) stat.complete = false;
    if (size.error().code() != ErrorCode::TooLarge) set_unreadable_size(stat);  // else no size can say it
    return nullptr;
  }
  if (!*size && !listed) return publish(stat, node, budget);
  const auto shown = *size ? *size : opened;
  if (shown) set_size(stat, *shown);
  // The kernel is not notified when a source of a virtual dataset grows.
  stat.complete = size->has_value() && !data_.is_virtual();
  return *std::move(described);
}

DatasetDescriptionPtr FollowedBytes::publish(NodeStat& stat, NodeId node, RequestBudget& budget) {
  const auto state = newest(budget);
  if (!state) {
    if (!is_passing(state.error())) data_.note_failure(0, state.error());
    set_size(stat, publisher().size().value_or(0));
    set_unreadable_size(stat);
    stat.complete = false;
    return nullptr;
  }
  const DataState& data = *(*state)->data;
  const auto kernel = data_.context().open_nodes->kernel();
  const SizePublisher::Size published = publisher().publish(
      node != 0 ? kernel.get() : nullptr, node, data.number, (*state)->file->size(), (*state)->stale);
  set_size(stat, published.bytes);
  stat.complete = published.newest && !data_.is_virtual();
  return shared_description(data);
}

}  // namespace h5mount::tree

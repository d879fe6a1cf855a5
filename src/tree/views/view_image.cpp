#include "view_image.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "../core/open_nodes.h"
#include "../objects/object_facts.h"

namespace h5mount::tree {

ViewedData& ViewImage::data() const {
  std::shared_ptr<ViewedData> own = own_.load();
  if (own) return *own;
  if (!shared_->grows()) return *shared_;
  std::shared_ptr<ViewedData> made = shared_->copy();
  return own_.compare_exchange(own, made) ? *made : *own;
}

std::shared_ptr<ViewImage::State> ViewImage::state_of(const ViewedData& data, bool followed,
                                                      const DatasetReaderPtr& base) {
  const MutexLock lock(mutex_);
  if (state_ && state_->base == base) return state_;
  auto next = std::make_shared<State>();
  next->data = &data;
  next->followed = followed;
  next->base = base;
  if (state_) {
    const std::optional<MadePtr> made = state_->made.peek();
    next->number = state_->number + 1;
    next->before = made.value_or(state_->before);
    // The stale ranges of a skipped state were for its file; own data know nothing of shared ones; and a file
    // that was not followed may have changed anywhere.
    next->all_stale = !made || state_->data != &data || state_->followed != followed;
  }
  state_ = next;
  return next;
}

Result<std::shared_ptr<ViewImage::State>> ViewImage::newest_state(NodeId node, RequestBudget& budget) {
  const ViewedData* read_from = nullptr;
  bool followed = false;
  DatasetReaderPtr base;
  // Shared data may begin to grow while they give their reader, which is then no longer this view's.
  while (read_from != &data()) {
    ViewedData& now = data();
    followed = now.followed().snapshot()->following();
    H5_ASSIGN(base, now.newest_reader(budget));
    read_from = &now;
  }
  std::shared_ptr<State> state = state_of(*read_from, followed, base);
  H5_TRY(state->made.get_once([&] { return make(*state, node, budget); }, &budget));
  return state;
}

Result<view::ComputedFilePtr> ViewImage::newest(NodeId node, RequestBudget& budget) {
  H5_ASSIGN(const std::shared_ptr<State> state, newest_state(node, budget));
  return (*state->made.peek())->file;
}

Result<ViewImage::MadePtr> ViewImage::make(State& state, NodeId node, RequestBudget& budget) {
  const dataset::ReadEnvironment& environment = data().context().environment;
  // A reader returns its stale ranges once: after a failed attempt they are lost.
  const bool known = !state.all_stale.exchange(true) && state.before != nullptr;
  auto made = std::make_shared<Made>();
  made->reader = state.base;
  if (of_.derivation) {
    H5_ASSIGN(made->reader,
              of_.derivation->open(environment, state.base, known ? state.before->reader : nullptr));
  }
  std::vector<dataset::ByteRange> stale = made->reader->take_outdated();
  if (!known) stale = {{0, format::kUnlimited}};
  H5_ASSIGN(made->file, of_.view->make({made->reader, file_->value_context(file_->file()->reread(), nullptr),
                                        environment, file_->file(), &budget},
                                       known ? state.before->file.get() : nullptr, stale));
  if (state.before) note_stale(state, *made, stale, node);
  return made;
}

// Includes the page of the old end: the kernel has filled it up with zeros.
void ViewImage::note_stale(const State& state, const Made& made, std::span<const dataset::ByteRange> stale,
                           NodeId node) {
  static const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  constexpr std::size_t kMaxRanges = 64;
  if (!data().context().open_nodes->kernel() || node == 0) return;
  std::vector<dataset::ByteRange> ranges = made.file->stale_since(*state.before->file, stale);
  const std::uint64_t end = state.before->file->size();
  if (made.file->size() != end) ranges.push_back({end / kPage * kPage, format::kUnlimited});
  const MutexLock lock(mutex_);
  stale_.insert(stale_.end(), ranges.begin(), ranges.end());
  if (stale_.size() <= kMaxRanges) return;
  const auto first = std::ranges::min_element(stale_, {}, &dataset::ByteRange::begin);
  stale_ = {{first->begin, format::kUnlimited}};
}

SizePublisher::Ranges ViewImage::take_stale() {
  const MutexLock lock(mutex_);
  return std::exchange(stale_, {});
}

DatasetReaderPtr ViewImage::last_reader() const {
  const MutexLock lock(mutex_);
  const std::optional<MadePtr> made = state_ ? state_->made.peek() : std::nullopt;
  return made ? (*made)->reader : nullptr;
}

// The kernel is not notified when a source of a virtual dataset grows.
Result<std::uint64_t> ViewImage::size_by_shape(StatDepth depth, NodeStat& stat, RequestBudget& budget) const {
  H5_ASSIGN(const DatasetDescriptionPtr described,
            data().newest_description(budget, depth != StatDepth::Listing));
  if (data().is_virtual()) stat.complete = false;
  std::optional<std::uint64_t> size;
  if (of_.derivation) {
    H5_ASSIGN(const object::DatasetDescription part, of_.derivation->describe(*described));
    H5_ASSIGN(size, of_.view->size(part, &budget));
  } else {
    H5_ASSIGN(size, of_.view->size(*described, &budget));
  }
  if (!size) return fail({ErrorCode::NotFound, "the size takes a pass over the data"});
  return *size;
}

void ViewImage::measure(StatDepth depth, NodeStat& stat, NodeId node, RequestBudget& budget) {
  bool opened = false;
  {
    const MutexLock lock(mutex_);
    opened = state_ != nullptr;
  }
  if (!opened) {
    if (const auto size = size_by_shape(depth, stat, budget)) return set_size(stat, *size);
    stat.complete = depth != StatDepth::Listing;
    if (!stat.complete) return;
  }
  publish(stat, node, budget);
}

void ViewImage::publish(NodeStat& stat, NodeId node, RequestBudget& budget) {
  const auto state = newest_state(node, budget);
  if (!state) {
    if (state.error().code() != ErrorCode::Interrupted) data().note_failure(0, state.error());
    set_size(stat, publisher_->size());
    set_unreadable_size(stat);
    stat.complete = false;
    return;
  }
  const auto kernel = data().context().open_nodes->kernel();
  const std::uint64_t size = (*(*state)->made.peek())->file->size();
  const SizePublisher::Size published = publisher_->publish(
      node != 0 ? kernel.get() : nullptr, node, (*state)->number, size, [this] { return take_stale(); });
  set_size(stat, published.bytes);
  stat.complete = published.newest;
}

}  // namespace h5mount::tree

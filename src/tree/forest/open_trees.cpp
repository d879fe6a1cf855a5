#include "open_trees.h"

#include <algorithm>

namespace h5mount::tree {

std::uint64_t OpenTrees::take_number() {
  const MutexLock lock(mutex_);
  constexpr std::uint64_t kNumbers = std::uint64_t{1} << (64 - kNodeBits);
  if (next_ < kNumbers || free_.empty()) return next_++;
  const std::uint64_t number = free_.front();
  free_.pop_front();
  return number;
}

void OpenTrees::give_back(std::uint64_t number) {
  const MutexLock lock(mutex_);
  free_.push_back(number);
}

void OpenTrees::add(const OpenTreePtr& tree, OpenableFile& openable) {
  touch(*tree);
  const MutexLock lock(mutex_);
  trees_.emplace(tree->number, tree);
  const MutexLock file_lock(openable.mutex);
  openable.tree = tree;
}

void OpenTrees::touch(OpenTree& tree) {
  tree.used.store(now_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  auto aged = OpenTree::Retention::Aged;
  tree.retention.compare_exchange_strong(aged, OpenTree::Retention::Stays);
}

OpenTreePtr OpenTrees::of_node(NodeId node, bool uses) {
  const MutexLock lock(mutex_);
  const auto found = trees_.find(number_of(node));
  if (found == trees_.end()) return nullptr;
  if (uses) touch(*found->second);
  return found->second;
}

// Takes the reference under the lock, so that `drop` sees the new user.
OpenTreePtr OpenTrees::of_file(const OpenableFile& openable) {
  const MutexLock lock(mutex_);
  const MutexLock file_lock(openable.mutex);
  OpenTreePtr tree = openable.tree.lock();
  if (tree) touch(*tree);
  return tree;
}

std::vector<OpenTreePtr> OpenTrees::all() const {
  std::vector<OpenTreePtr> out;
  const MutexLock lock(mutex_);
  out.reserve(trees_.size());
  for (const auto& [number, tree] : trees_) out.push_back(tree);
  return out;
}

std::size_t OpenTrees::size() const {
  const MutexLock lock(mutex_);
  return trees_.size();
}

// Returns an eighth more than necessary, as the search goes through all trees. A tree that is being used, or
// of which a file is open, is not returned: what the kernel keeps of it would stay even if the kernel is
// asked to forget the file's name.
std::vector<OpenTreePtr> OpenTrees::too_many() {
  std::vector<OpenTreePtr> out;
  const MutexLock lock(mutex_);
  if (trees_.size() <= most_) return out;
  const auto stays = [](const auto& one) { return one.second->retention == OpenTree::Retention::Stays; };
  const auto staying = static_cast<std::size_t>(std::ranges::count_if(trees_, stays));
  if (staying <= most_) return out;
  std::vector<std::pair<std::uint64_t, OpenTreePtr>> oldest;
  for (const auto& one : trees_)
    if (stays(one) && one.second.use_count() == 1) oldest.emplace_back(one.second->used.load(), one.second);
  const std::size_t count = std::min(oldest.size(), staying - most_ + most_ / 8);
  std::ranges::nth_element(oldest, oldest.begin() + static_cast<std::ptrdiff_t>(count), {},
                           &std::pair<std::uint64_t, OpenTreePtr>::first);
  for (std::size_t i = 0; i < count; ++i) out.push_back(std::move(oldest[i].second));
  return out;
}

// The table's own reference and the caller's are the last two: whoever wants another one takes the lock.
bool OpenTrees::drop(OpenTreePtr tree) {
  constexpr long kLast = 2;
  const MutexLock lock(mutex_);
  if (tree->retention == OpenTree::Retention::Stays || tree.use_count() > kLast ||
      tree->tree.use_count() > 1 || tree->tree->known_nodes() > 0)
    return false;
  if (trees_.erase(tree->number) == 0) return false;
  free_.push_back(tree->number);
  return true;
}

}  // namespace h5mount::tree

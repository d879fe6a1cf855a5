#include "place_table.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "../core/inode_numbers.h"
#include "h5mount/tree/names.h"

namespace h5mount::tree {

PlaceTable::PlaceTable(FolderPtr root) : root_(std::move(root)), names_(0, NameHash{this}, NameEqual{this}) {}

std::size_t PlaceTable::NameHash::operator()(const Name& name) const {
  return mix_bits(reinterpret_cast<std::uintptr_t>(name.in) ^ fnv1a(name.name));
}

std::size_t PlaceTable::NameHash::operator()(NodeId id) const {
  return (*this)(table->name_of(id));
}

bool PlaceTable::NameEqual::operator()(const Name& a, NodeId b) const {
  const Name other = table->name_of(b);
  return a.in == other.in && a.name == other.name;
}

// Called with the lock held: the set calls it while it is searched.
PlaceTable::Name PlaceTable::name_of(NodeId id) const H5_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
  const Stored& stored = places_.find(id)->second;
  return {stored.in.get(), stored.name.get()};
}

std::optional<Place> PlaceTable::find(NodeId id) const {
  if (id == root_->id) return Place{nullptr, {}, ForestEntry::Kind::Directory, 0, false, root_};
  const MutexLock lock(mutex_);
  const auto found = places_.find(id);
  if (found == places_.end()) return std::nullopt;
  const Stored& stored = found->second;
  return Place{stored.in, stored.name.get(), stored.kind, stored.identity, stored.detached, stored.content};
}

NodeId PlaceTable::find_name(const Folder& in, std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto found = names_.find(Name{&in, name});
  return found == names_.end() ? 0 : *found;
}

PlaceTable::Adopted PlaceTable::adopt(const FolderPtr& in, std::string_view name, ForestEntry::Kind kind,
                                      std::uint64_t identity) {
  Adopted out;
  std::shared_ptr<PlaceContent> dropped;  // destroyed after the lock is released
  auto text = std::make_unique<char[]>(name.size() + 1);
  std::memcpy(text.get(), name.data(), name.size());
  const MutexLock lock(mutex_);
  if (const auto known = names_.find(Name{in.get(), name}); known != names_.end()) {
    const auto place = places_.find(*known);
    Stored& stored = place->second;
    if (stored.kind == kind && stored.identity == identity) {
      if (stored.lookups < std::numeric_limits<std::uint32_t>::max()) ++stored.lookups;
      out.id = *known;
      return out;
    }
    out.detached = *known;
    take_name(place);
    stored.detached = true;
    if (stored.lookups == 0) {
      dropped = std::move(stored.content);
      places_.erase(place);
    }
  }
  out.id = next_++;
  const auto made = places_.emplace(out.id, Stored{in, std::move(text), identity, nullptr, 1, kind, false});
  try {
    give_name(made.first);
  } catch (...) {
    places_.erase(made.first);
    throw;
  }
  return out;
}

void PlaceTable::forget(NodeId id, std::uint64_t count) {
  std::shared_ptr<PlaceContent> dropped;  // destroyed after the lock is released, as is the directory
  FolderPtr in;
  const MutexLock lock(mutex_);
  const auto found = places_.find(id);
  if (found == places_.end()) return;
  Stored& stored = found->second;
  stored.lookups -= static_cast<std::uint32_t>(std::min<std::uint64_t>(stored.lookups, count));
  if (stored.lookups > 0 || (stored.content && !stored.detached && stored.content->in_use())) return;
  take_name(found);
  dropped = std::move(stored.content);
  in = std::move(stored.in);
  places_.erase(found);
}

// The names of a directory are asked for where many directories may have changed at once, so the places of
// each are a list: going through all places for each of them would take the product of the two.
void PlaceTable::give_name(Places::iterator place) {
  names_.insert(place->first);
  NodeId& first = place->second.in->first_place;
  place->second.after = first;
  if (first != 0) places_.find(first)->second.before = place->first;
  first = place->first;
}

void PlaceTable::take_name(Places::iterator place) {
  if (place->second.detached) return;
  names_.erase(place->first);
  const auto& [before, after] = std::pair(place->second.before, place->second.after);
  (before != 0 ? places_.find(before)->second.after : place->second.in->first_place) = after;
  if (after != 0) places_.find(after)->second.before = before;
}

void PlaceTable::detach(NodeId id) {
  std::shared_ptr<PlaceContent> dropped;
  FolderPtr in;
  const MutexLock lock(mutex_);
  const auto found = places_.find(id);
  if (found == places_.end() || found->second.detached) return;
  take_name(found);
  found->second.detached = true;
  if (found->second.lookups > 0) return;
  dropped = std::move(found->second.content);
  in = std::move(found->second.in);
  places_.erase(found);
}

std::vector<std::string> PlaceTable::names_in(const Folder& in) const {
  std::vector<std::string> out;
  const MutexLock lock(mutex_);
  for (NodeId id = in.first_place; id != 0; ++looked_at_) {
    const Stored& stored = places_.find(id)->second;
    out.emplace_back(stored.name.get());
    id = stored.after;
  }
  return out;
}

std::uint64_t PlaceTable::looked_at() const {
  const MutexLock lock(mutex_);
  return looked_at_;
}

std::size_t PlaceTable::size() const {
  const MutexLock lock(mutex_);
  return places_.size();
}

}  // namespace h5mount::tree

#include "places.h"

#include "h5mount/base/limits.h"

namespace h5mount::check {

Places::Places(std::uint64_t root_address)
    : places_{{root_address, kRoot, 0, ""}}, known_{{root_address, {kRoot, 1}}} {}

void Places::add(PlaceId parent, std::string_view name, std::uint64_t address) {
  const MutexLock lock(mutex_);
  if (const auto known = known_.find(address); known != known_.end()) {
    if (known->second.links < UINT32_MAX) ++known->second.links;
    return;
  }
  if (places_.size() >= limits::kMaxWalkedObjects ||
      name_bytes_ + name.size() > limits::kMaxRememberedNameBytes) {
    full_ = true;
    return;
  }
  known_.emplace(address, Known{static_cast<PlaceId>(places_.size()), 1});
  name_bytes_ += name.size();
  places_.push_back({address, parent, places_[parent].depth + 1, std::string(name)});
}

void Places::set_references(PlaceId place, std::uint32_t references, bool at_least) {
  const MutexLock lock(mutex_);
  places_[place].stated = references;
  places_[place].at_least = at_least;
}

void Places::leave_out_counts() {
  const MutexLock lock(mutex_);
  uncounted_ = true;
}

std::optional<Places::Miscount> Places::miscount(PlaceId place) const {
  const MutexLock lock(mutex_);
  const Place& one = places_[place];
  if (full_ || uncounted_ || one.stated == 0) return std::nullopt;
  const std::uint32_t found = known_.at(one.address).links;
  if (one.at_least ? one.stated >= found : one.stated == found) return std::nullopt;
  return Miscount{one.stated, found};
}

PlaceId Places::size() const {
  const MutexLock lock(mutex_);
  return static_cast<PlaceId>(places_.size());
}

std::optional<PlaceId> Places::find(std::uint64_t address) const {
  const MutexLock lock(mutex_);
  const auto known = known_.find(address);
  return known == known_.end() ? std::nullopt : std::optional(known->second.place);
}

std::uint32_t Places::depth(PlaceId place) const {
  const MutexLock lock(mutex_);
  return places_[place].depth;
}

PlaceId Places::parent(PlaceId place) const {
  const MutexLock lock(mutex_);
  return places_[place].parent;
}

std::uint64_t Places::address(PlaceId place) const {
  const MutexLock lock(mutex_);
  return places_[place].address;
}

void Places::add_unlinked(std::uint64_t address, std::uint64_t offset) {
  const MutexLock lock(mutex_);
  const auto place = static_cast<PlaceId>(places_.size());
  if (known_.emplace(address, Known{place, 0}).second)
    places_.push_back({address, place, 0, "offset " + std::to_string(offset)});
}

std::string Places::path(PlaceId place) const {
  constexpr std::size_t kMaxBytes = 4096;  // PATH_MAX
  const MutexLock lock(mutex_);
  std::vector<const std::string*> names;
  std::size_t bytes = 0;
  for (; places_[place].parent != place; place = places_[place].parent) {
    const std::string& name = places_[place].name;
    if (bytes + 1 + name.size() > kMaxBytes) break;
    bytes += 1 + name.size();
    names.push_back(&name);
  }
  const bool whole = places_[place].parent == place;
  if (names.empty() && place == kRoot) return "/";
  if (names.empty() && !whole) return ".../";
  std::string out = whole ? places_[place].name : "...";
  for (auto name = names.rbegin(); name != names.rend(); ++name) out += '/', out += **name;
  return out;
}

bool Places::full() const {
  const MutexLock lock(mutex_);
  return full_;
}

}  // namespace h5mount::check

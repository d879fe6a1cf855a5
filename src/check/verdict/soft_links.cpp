#include "soft_links.h"

#include <algorithm>

#include "h5mount/object/resolve_path.h"

namespace h5mount::check {

void SoftLinks::begin(const Key& link, const std::string& target) {
  if (!known_.emplace(link, Known{}).second) return;
  Step step{link, target.starts_with('/') ? file_->root_address() : link.first, {}};
  object::push_components(target, step.rest);
  way_.push_back(std::move(step));
}

std::optional<format::Link> SoftLinks::find(std::uint64_t group, const std::string& name) {
  constexpr std::size_t kMaxGroups = 256;
  auto known = groups_.find(group);
  if (known == groups_.end()) {
    const auto object = object::open_object(*file_, group);
    if (!object || object->kind != object::ObjectKind::Group) return std::nullopt;
    auto opened = object::Group::open(file_, *object);
    if (!opened) return std::nullopt;
    if (groups_.size() == kMaxGroups) groups_.clear();
    known = groups_.emplace(group, *std::move(opened)).first;
  }
  auto link = known->second->find(name);
  return link ? std::optional(*std::move(link)) : std::nullopt;
}

void SoftLinks::finish(End end) {
  while (!way_.empty()) {
    end.links = way_.back().links;
    known_[way_.back().link] = {end, false};
    way_.pop_back();
    if (way_.empty()) return;
    Step& before = way_.back();
    before.links = std::max(before.links, end.links + 1);
    if (end.address) {
      before.at = *end.address;
      return;
    }
  }
}

void SoftLinks::step() {
  Step& last = way_.back();
  if (last.rest.empty()) return finish({.address = last.at});
  const std::string name = std::move(last.rest.back());
  last.rest.pop_back();
  const auto link = find(last.at, name);
  if (link && link->is(format::LinkType::Hard)) {
    last.at = link->address;
    return;
  }
  if (!link || !link->is(format::LinkType::Soft)) return finish({});
  const auto known = known_.find({last.at, name});
  if (known == known_.end()) return begin({last.at, name}, link->target);
  if (known->second.on_the_way) return finish({.circle = true});
  const End& end = known->second.end;
  last.links = std::max(last.links, end.links + 1);
  if (!end.address) return finish({.circle = end.circle});
  last.at = *end.address;
}

}  // namespace h5mount::check

#include "loops.h"

#include <algorithm>
#include <ranges>
#include <unordered_set>

#include "h5mount/base/text.h"
#include "h5mount/object/resolve_path.h"
#include "soft_links.h"

namespace h5mount::check {

namespace {

using Edges = std::vector<std::pair<PlaceId, PlaceId>>;

// Visits each edge of a graph of `places` that closes a circle, going from the first place on and then from
// those that were not met.
template <class Visit>
void for_each_closing_edge(Edges edges, PlaceId places, const Visit& visit) {
  enum : std::uint8_t { kUnknown, kOnTheWay, kDone };
  std::ranges::sort(edges);
  std::vector<std::uint8_t> states(places, kUnknown);
  const auto edges_of = [&](PlaceId place) {
    return std::ranges::lower_bound(edges, place, {}, &Edges::value_type::first) - edges.begin();
  };
  std::vector<std::pair<PlaceId, std::ptrdiff_t>> way;  // each with its next edge
  for (const auto& [from, unused] : edges) {
    if (states[from] != kUnknown) continue;
    states[from] = kOnTheWay;
    way.assign({{from, edges_of(from)}});
    while (!way.empty()) {
      auto& [place, next] = way.back();
      const auto at = static_cast<std::size_t>(next);
      if (at == edges.size() || edges[at].first != place) {
        states[place] = kDone;
        way.pop_back();
        continue;
      }
      ++next;
      const PlaceId target = edges[at].second;
      if (states[target] == kOnTheWay) visit(edges[at]);
      if (states[target] != kUnknown) continue;
      states[target] = kOnTheWay;
      way.emplace_back(target, edges_of(target));
    }
  }
}

// Whether a path is one of those that a name with %b stands for.
bool matches(std::string_view path, std::string_view pattern) {
  const std::size_t at = pattern.find("%b");
  if (at == std::string_view::npos) return path == pattern;
  const std::string_view begin = pattern.substr(0, at), end = pattern.substr(at + 2);
  if (path.size() <= begin.size() + end.size() || !path.starts_with(begin) || !path.ends_with(end))
    return false;
  const std::string_view number = path.substr(begin.size(), path.size() - begin.size() - end.size());
  return number.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

bool Loops::take(std::size_t bytes) {
  constexpr std::size_t kMostBytes = 128U << 20, kEach = 80;
  bytes_ += bytes + kEach;
  full_ = full_ || bytes_ > kMostBytes;
  return !full_;
}

void Loops::add_soft_link(PlaceId group, const format::Link& link) {
  if (take(link.name.size() + link.target.size())) soft_.push_back({group, link.name, link.target});
}

void Loops::add_source(PlaceId dataset, const std::string& source) {
  if (take(source.size())) sources_.push_back({dataset, "", source});
}

// A soft link leads through another one only if its target's path has the name of one: of most this is not
// so, and they need not be followed.
void Loops::judge_soft_links(const Walk& walk, Tally& tally, Findings& findings) const {
  std::unordered_set<std::string_view> names;
  for (const Named& link : soft_) names.insert(link.name);
  SoftLinks links(walk.context().metadata);
  for (const Named& link : soft_) {
    if (!tally.go_on()) return;
    if (std::ranges::none_of(split(link.target, '/'), [&](auto part) { return names.contains(part); }))
      continue;
    const SoftLinks::End end = links.follow(walk.places().address(link.place), link.name, link.target,
                                            [&] { return tally.go_on(); });
    const std::string place = walk.places().link_path(link.place, link.name);
    if (end.circle) findings.add(VerdictKind::Loop, VerdictCode::Corrupt, place, link.target);
    if (!end.circle && most_links_ && end.links == *most_links_ + 1)  // the first of a longer way
      findings.add(VerdictKind::LinkDepth, VerdictCode::TooMuch, place, end.links, *most_links_);
  }
}

Edges Loops::source_edges(const Walk& walk, Tally& tally) const {
  Edges out;
  std::vector<std::pair<PlaceId, std::string>> paths;  // of the virtual datasets
  for (const Named& source : sources_)
    if (paths.empty() || paths.back().first != source.place)
      paths.emplace_back(source.place, walk.places().path(source.place));
  RequestBudget budget(RequestBudget::unbounded());
  object::PathWork work{.budget = budget};
  const std::uint64_t root = walk.metadata().root_address();
  for (const Named& source : sources_) {
    if (!tally.go_on()) return out;
    if (source.target.contains("%b")) {
      const std::string pattern = (source.target.starts_with('/') ? "" : "/") + source.target;
      for (const auto& [place, path] : paths)
        if (matches(path, pattern)) out.emplace_back(source.place, place);
      continue;
    }
    const auto found = object::resolve_path(walk.context().metadata, root, source.target, work);
    const auto place = found ? walk.places().find(*found) : std::nullopt;
    if (place) out.emplace_back(source.place, *place);
  }
  return out;
}

void Loops::judge(const Walk& walk, Tally& tally, Findings& findings) const {
  const Places& places = walk.places();
  if (!again_.empty()) {
    Edges edges = again_;
    for (PlaceId place = 1; place < places.size(); ++place) edges.emplace_back(places.parent(place), place);
    for_each_closing_edge(std::move(edges), places.size(), [&](const auto& edge) {
      findings.add(VerdictKind::Loop, VerdictCode::Corrupt, places.path(edge.first),
                   "a hard link leads back to " + places.path(edge.second));
    });
  }
  judge_soft_links(walk, tally, findings);
  if (sources_.empty()) return;
  for_each_closing_edge(source_edges(walk, tally), places.size(), [&](const auto& edge) {
    findings.add(VerdictKind::Loop, VerdictCode::Corrupt, places.path(edge.first),
                 "a source is " + places.path(edge.second));
  });
}

}  // namespace h5mount::check

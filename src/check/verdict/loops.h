// Loops: hard links that lead back to a group that they are in, soft links that lead in a circle, and virtual
// datasets that are their own sources. Threads: one at a time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../walk.h"
#include "findings.h"

namespace h5mount::check {

class Loops {
 public:
  // `most_links`: the policy's limit of links on a way.
  explicit Loops(Limit most_links) : most_links_(most_links) {}

  void add_hard_link(PlaceId group, PlaceId target) { again_.emplace_back(group, target); }
  void add_soft_link(PlaceId group, const format::Link& link);
  // A source of a virtual dataset in the file itself; the name may hold %b.
  void add_source(PlaceId dataset, const std::string& source);
  // Whether there were more links than are remembered.
  bool full() const { return full_; }

  // To be called once, when all objects are known.
  void judge(const Walk& walk, Tally& tally, Findings& findings) const;

 private:
  struct Named {
    PlaceId place;
    std::string name, target;
  };
  using Edges = std::vector<std::pair<PlaceId, PlaceId>>;

  bool take(std::size_t bytes);
  void judge_soft_links(const Walk& walk, Tally& tally, Findings& findings) const;
  Edges source_edges(const Walk& walk, Tally& tally) const;

  const Limit most_links_;
  Edges again_;  // hard links to what was known
  std::vector<Named> soft_, sources_;
  std::size_t bytes_ = 0;
  bool full_ = false;
};

}  // namespace h5mount::check

// StaleRanges: which bytes became stale in which state of a sequence: the deltas of its states, one after the
// other. A value: each state has the ranges of the state before and those that it added, and anyone may ask
// what is stale since a state that they know. Bounded: for states long ago one range is kept that covers all
// of theirs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::tree {

class StaleRanges {
 public:
  // Adds the ranges that `state`, the newest one, made stale; states have ascending numbers.
  void add(std::uint64_t state, std::span<const dataset::ByteRange> ranges);
  // The ranges that the states after `state` made stale.
  std::vector<dataset::ByteRange> since(std::uint64_t state) const;

 private:
  struct Entry {
    std::uint64_t state = 0;
    dataset::ByteRange range;
  };
  std::vector<Entry> entries_;  // by ascending states
};

}  // namespace h5mount::tree

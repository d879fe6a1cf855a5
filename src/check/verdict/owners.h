// Owners: the structures that objects have for themselves alone: two that name the same one overlap. Threads:
// one at a time.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "../walk.h"
#include "findings.h"

namespace h5mount::check {

class Owners {
 public:
  explicit Owners(Findings& findings) : findings_(findings) {}

  // Its indexes and heaps of links and attributes.
  void judge(const Places& places, PlaceId place, const object::Object& object);
  // Its index of chunks.
  void judge(const Places& places, PlaceId place, const format::DataLayout& layout);

 private:
  void add(const Places& places, PlaceId place, std::uint64_t address);

  Findings& findings_;
  std::unordered_map<std::uint64_t, PlaceId> known_;  // by address
};

}  // namespace h5mount::check

// HeapReferences: what elements of variable-length types refer to in the global heap. Each object there is of
// one element: two that share one claim more than is stored. Threads: one at a time.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../walk.h"
#include "findings.h"
#include "h5mount/format/datatype.h"

namespace h5mount::check {

class HeapReferences {
 public:
  explicit HeapReferences(format::FileSizes sizes) : sizes_(sizes) {}

  // Elements that are a whole number of `type`, one behind the other.
  void add(PlaceId place, const format::DatatypePtr& type, ByteSpan elements);
  // An object that is a dataset's, and no element's.
  void add_object(PlaceId place, std::uint64_t address, std::uint32_t index);

  // Follows all references, to be called once.
  void judge(const Walk& walk, Tally& tally, Findings& findings);

  // What the elements of a dataset claim, and what is stored of it; what all claim that were not followed.
  struct Claim {
    std::uint64_t claimed = 0, stored = 0;
  };
  const std::unordered_map<PlaceId, Claim>& claims() const { return claims_; }
  std::uint64_t claimed_unfollowed() const { return unfollowed_; }
  std::size_t count() const { return references_.size(); }

 private:
  static constexpr std::size_t kMost = 4U << 20;  // references that are remembered, 24 bytes each

  // Lists of one type, of one object.
  struct Series {
    PlaceId place;
    format::DatatypePtr base;  // null: nothing in them refers to further ones
  };
  struct Reference {
    std::uint64_t address, bytes;  // of the collection, and as the element says
    std::uint32_t index, series;
  };
  static std::pair<std::uint64_t, std::uint32_t> place_in_heap(const Reference& one) {
    return {one.address, one.index};
  }
  static bool same(const Reference& a, const Reference& b) { return place_in_heap(a) == place_in_heap(b); }

  void scan(PlaceId place, const format::Datatype& type, const std::byte* element);
  void scan_list(PlaceId place, const format::Datatype& type, const std::byte* element);
  std::uint32_t series_of(PlaceId place, const format::Datatype& type);
  void follow(const Reference& reference, const Walk& walk, Findings& findings);
  void judge_shared(const Walk& walk, Findings& findings) const;

  const format::FileSizes sizes_;
  std::vector<Series> series_;
  std::pair<PlaceId, format::DatatypePtr> scanned_;
  std::unordered_map<const format::Datatype*, std::uint32_t>
      known_series_;  // of what is scanned, by its parts
  std::vector<Reference> references_;
  std::unordered_map<PlaceId, Claim> claims_;
  std::uint64_t unfollowed_ = 0;
};

}  // namespace h5mount::check

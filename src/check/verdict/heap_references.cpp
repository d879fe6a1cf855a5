#include "heap_references.h"

#include <algorithm>
#include <span>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/metadata/global_heap.h"

namespace h5mount::check {

namespace {

constexpr std::uint64_t kSaturated = ~std::uint64_t{0};

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  return checked_add(a, b).value_or(kSaturated);
}

}  // namespace

std::uint32_t HeapReferences::series_of(PlaceId place, const format::Datatype& type) {
  const auto [known, added] = known_series_.try_emplace(&type, static_cast<std::uint32_t>(series_.size()));
  if (added) series_.push_back({place, type.base && type.base->has_variable_part ? type.base : nullptr});
  return known->second;
}

void HeapReferences::scan_list(PlaceId place, const format::Datatype& type, const std::byte* element) {
  const std::uint64_t count = load_le<std::uint32_t>(element);
  const std::uint64_t address = format::load_address(element + 4, sizes_.offsets);
  const std::uint32_t index = load_le<std::uint32_t>(element + 4 + sizes_.offsets);
  if (count == 0 || address == 0 || address == format::kUndefinedAddress) return;
  const std::uint64_t bytes = count * (type.base ? type.base->size : 1U);
  Claim& claim = claims_[place];
  if (references_.size() == kMost) {
    unfollowed_ = sum(unfollowed_, bytes);
    return;
  }
  claim.claimed = sum(claim.claimed, bytes);
  references_.push_back({address, bytes, index, series_of(place, type)});
}

// Recursion ends with the decoder's bound (limits::kMaxDatatypeDepth).
void HeapReferences::scan(PlaceId place, const format::Datatype& type,  // NOLINT(misc-no-recursion)
                          const std::byte* element) {
  if (!type.has_variable_part) return;
  switch (type.cls) {
    case format::DatatypeClass::VariableLength:
      return scan_list(place, type, element);
    case format::DatatypeClass::Compound:
      for (const format::CompoundMember& member : type.members)
        scan(place, *member.type, element + member.offset);
      return;
    case format::DatatypeClass::Array:
      for (std::uint32_t at = 0; at + type.base->size <= type.size; at += type.base->size)
        scan(place, *type.base, element + at);
      return;
    default:
      return;
  }
}

void HeapReferences::add(PlaceId place, const format::DatatypePtr& type, ByteSpan elements) {
  if (!type->has_variable_part) return;
  if (scanned_ != std::pair(place, type)) known_series_.clear();
  scanned_ = {place, type};
  for (std::size_t at = 0; at + type->size <= elements.size(); at += type->size)
    scan(place, *type, elements.data() + at);
}

void HeapReferences::add_object(PlaceId place, std::uint64_t address, std::uint32_t index) {
  if (references_.size() == kMost) return;
  references_.push_back({address, 0, index, static_cast<std::uint32_t>(series_.size())});
  series_.push_back({place, nullptr});
}

void HeapReferences::follow(const Reference& reference, const Walk& walk, Findings& findings) {
  const auto [place, base] = series_[reference.series];
  const auto object = metadata::load_global_heap_object(walk.metadata(), reference.address, reference.index);
  Error error = object ? Error(ErrorCode::InvalidValue, "GlobalHeapCollection", "object.size",
                               walk.metadata().base_address() + reference.address)
                             .with_found(object->bytes().size())
                             .with_expected(reference.bytes)
                             .with_detail("the element says more than its object has")
                       : object.error();
  if (!object || object->bytes().size() < reference.bytes)
    return findings.add_damage({Severity::Damage, walk.places().path(place), std::move(error)}, true);
  claims_[place].stored += object->bytes().size();
  if (base) add(place, base, object->bytes().first(static_cast<std::size_t>(reference.bytes)));
}

void HeapReferences::judge_shared(const Walk& walk, Findings& findings) const {
  std::size_t met = 0;
  for (std::size_t i = 1; i < references_.size() && met < limits::kMaxFindings; ++i) {
    if (!same(references_[i - 1], references_[i])) continue;
    ++met;
    findings.add(VerdictKind::Overlap, VerdictCode::Corrupt,
                 walk.places().path(series_[references_[i].series].place),
                 "an object of the global heap is also one of " +
                     walk.places().path(series_[references_[i - 1].series].place));
  }
}

// Lists in lists are found level by level; each level's type has fewer levels below it.
void HeapReferences::judge(const Walk& walk, Tally& tally, Findings& findings) {
  unsigned levels = 0;
  for (std::size_t begin = 0, end = 0; (end = references_.size()) > begin; begin = end, ++levels) {
    const auto level = std::span(references_).subspan(begin);
    std::ranges::sort(level, {}, place_in_heap);
    for (std::size_t i = begin; i < end; ++i) {
      if (!tally.go_on()) return;            // an object can be as large as its file
      const Reference one = references_[i];  // more may be added
      if (i == begin || !same(references_[i - 1], one)) follow(one, walk, findings);
    }
  }
  if (levels > 1) std::ranges::sort(references_, {}, place_in_heap);
  judge_shared(walk, findings);
}

}  // namespace h5mount::check

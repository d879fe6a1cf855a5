#include "numpy_strings.h"

#include <algorithm>
#include <cstring>

#include "h5mount/base/checked.h"

namespace h5mount::view {

using format::DatatypeClass;
using format::StringPadding;

// netCDF's characters are strings of one byte, so nothing can follow their NUL.
std::vector<NumpyStrings::Place> NumpyStrings::places_in(const format::Datatype& type) {
  std::vector<Place> out;
  if (type.cls == DatatypeClass::String) {
    const bool kept = type.padding == StringPadding::NullPad ||
                      (type.padding == StringPadding::NullTerminate && type.size == 1);
    if (!kept) out.push_back({.bytes = type.size, .padding = type.padding, .members = {}});
  } else if (type.cls == DatatypeClass::Array) {
    std::vector<Place> inner = places_in(*type.base);
    if (inner.empty()) return out;
    Place items{
        .count = type.size / type.base->size, .distance = type.base->size, .members = std::move(inner)};
    out.push_back(std::move(items));
  } else if (type.cls == DatatypeClass::Compound) {
    for (const format::CompoundMember& member : type.members) {
      for (Place& place : places_in(*member.type)) {
        place.offset += member.offset;
        out.push_back(std::move(place));
      }
    }
  }
  return out;
}

std::shared_ptr<const NumpyStrings> NumpyStrings::in(const format::Datatype& type) {
  auto out = std::make_shared<NumpyStrings>();
  out->places_ = places_in(type);
  out->element_bytes_ = type.size;
  return out->places_.empty() ? nullptr : out;
}

Status NumpyStrings::check_size(const format::Datatype& type) {
  if (type.size <= kMaxElementBytes || places_in(type).empty()) return {};
  return fail({ErrorCode::UnsupportedFeature, "elements of too many bytes with strings"});
}

void NumpyStrings::clear(const Place& place, MutableByteSpan bytes) {
  for (std::uint64_t i = 0; i < place.count; ++i) {
    const MutableByteSpan at = bytes.subspan(static_cast<std::size_t>(place.offset + i * place.distance));
    for (const Place& member : place.members) clear(member, at);
    if (!place.members.empty()) continue;
    const MutableByteSpan text = at.first(static_cast<std::size_t>(place.bytes));
    if (place.padding == StringPadding::NullTerminate) {
      const void* const end = std::memchr(text.data(), 0, text.size());
      if (end == nullptr) continue;
      const auto kept = static_cast<std::size_t>(static_cast<const std::byte*>(end) - text.data());
      std::memset(text.data() + kept, 0, text.size() - kept);
    } else {
      for (std::size_t last = text.size(); last > 0 && text[last - 1] == std::byte{' '}; --last)
        text[last - 1] = std::byte{0};
    }
  }
}

void NumpyStrings::clear(MutableByteSpan elements) const {
  const auto bytes = static_cast<std::size_t>(element_bytes_);
  for (; elements.size() >= bytes; elements = elements.subspan(bytes))
    for (const Place& place : places_) clear(place, elements.first(bytes));
}

Status NumpyStrings::read(const dataset::DatasetReader& dataset, std::uint64_t offset, std::uint64_t length,
                          RequestBudget& budget, dataset::Pieces& out) const {
  if (offset >= dataset.size()) return {};
  length = std::min(length, dataset.size() - offset);
  const dataset::ByteRange whole = whole_elements({offset, offset + length});
  const auto block =
      std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(whole.end - whole.begin));
  H5_TRY(dataset.read_into(whole.begin, *block, budget));
  H5_TRY(budget.spend(block->size()));
  clear(*block);
  out.add(ByteSpan(*block).subspan(static_cast<std::size_t>(offset - whole.begin),
                                   static_cast<std::size_t>(length)),
          block);
  return {};
}

dataset::ByteRange NumpyStrings::whole_elements(dataset::ByteRange range) const {
  const auto end = checked_mul(divide_up(range.end, element_bytes_), element_bytes_);
  return {range.begin / element_bytes_ * element_bytes_, end.value_or(format::kUnlimited)};
}

}  // namespace h5mount::view

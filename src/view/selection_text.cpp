#include "selection_text.h"

#include <algorithm>
#include <limits>

#include "h5mount/base/text.h"

namespace h5mount::view {

namespace {

constexpr std::string_view kEllipsis = "...";
constexpr std::size_t kMaxSelectionText = 4096;  // more than 32 dimensions of three numbers need

Error no_selection() {
  return {ErrorCode::NotFound, "no selection of the dataset"};
}

struct Number {
  bool negative = false;
  std::uint64_t magnitude = 0;  // saturated: beyond every extent
};

std::optional<Number> parse_number(std::string_view text) {
  Number number;
  if (text.starts_with('-')) {
    number.negative = true;
    text.remove_prefix(1);
  }
  const bool digits = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (text.empty() || !digits || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (const char c : text) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    number.magnitude = number.magnitude > (kMax - digit) / 10 ? kMax : number.magnitude * 10 + digit;
  }
  return number;
}

// A slice's bound as NumPy clips it to the extent.
std::uint64_t clipped(const Number& number, std::uint64_t extent) {
  if (!number.negative) return std::min(number.magnitude, extent);
  return number.magnitude >= extent ? 0 : extent - number.magnitude;
}

std::optional<dataset::DatasetPart::Axis> parse_index(std::string_view text, std::uint64_t extent) {
  const std::optional<Number> number = parse_number(text);
  if (!number) return std::nullopt;
  const bool inside = number->negative ? number->magnitude <= extent : number->magnitude < extent;
  if (!inside) return std::nullopt;
  const bool from_end = number->negative && number->magnitude > 0;
  if (!from_end && number->magnitude >= extent) return std::nullopt;  // -0 of an empty dimension
  return dataset::DatasetPart::Axis{from_end ? extent - number->magnitude : number->magnitude, 1, 1, true};
}

std::optional<dataset::DatasetPart::Axis> parse_slice(const std::vector<std::string_view>& parts,
                                                      std::uint64_t extent) {
  if (parts.size() > 3) return std::nullopt;
  std::uint64_t begin = 0, end = extent, step = 1;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty()) continue;
    const std::optional<Number> number = parse_number(parts[i]);
    if (!number) return std::nullopt;
    if (i == 2) {
      if (number->negative || number->magnitude == 0) return std::nullopt;
      step = number->magnitude;
    } else {
      (i == 0 ? begin : end) = clipped(*number, extent);
    }
  }
  const std::uint64_t count = begin < end ? (end - begin - 1) / step + 1 : 0;
  // If there is only one element, no step is needed, and a step of 1 cannot overflow.
  return dataset::DatasetPart::Axis{count == 0 ? 0 : begin, count <= 1 ? 1 : step, count, false};
}

}  // namespace

Result<dataset::DatasetPart> parse_selection(std::string_view text,
                                             const object::DatasetDescription& dataset) {
  const std::vector<std::uint64_t>& dims = dataset.space.dims;
  if (text.size() > kMaxSelectionText || dataset.space.kind == format::DataspaceKind::Null)
    return fail(no_selection());
  const std::vector<std::string_view> items = split(text, ',');
  const auto ellipses = static_cast<std::size_t>(std::ranges::count(items, kEllipsis));
  if (ellipses > 1 || items.size() - ellipses > dims.size()) return fail(no_selection());
  dataset::DatasetPart part{{}, dataset.type, 0};
  const std::size_t left_out = dims.size() - (items.size() - ellipses);
  const auto take_whole = [&](std::size_t count) {
    for (; count > 0; --count) part.axes.push_back({0, 1, dims[part.axes.size()], false});
  };
  for (const std::string_view item : items) {
    if (item == kEllipsis) {
      take_whole(left_out);
      continue;
    }
    const std::vector<std::string_view> bounds = split(item, ':');
    const std::uint64_t extent = dims[part.axes.size()];
    const auto axis = bounds.size() == 1 ? parse_index(item, extent) : parse_slice(bounds, extent);
    if (!axis) return fail(no_selection());
    part.axes.push_back(*axis);
  }
  take_whole(dims.size() - part.axes.size());
  return part;
}

}  // namespace h5mount::view

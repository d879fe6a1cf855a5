#include "byte_ranges.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "fields.h"
#include "h5mount/base/text.h"

namespace h5mount::serve {
namespace {

// Reads digits. A number that does not fit becomes the largest one, which is beyond every end.
std::optional<std::uint64_t> parse_position(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return parse_whole<std::uint64_t>(text).value_or(std::numeric_limits<std::uint64_t>::max());
}

// `valid` becomes false if the text is no range; returns nullopt for that, and for a range without bytes.
std::optional<Range> parse_range(std::string_view text, std::uint64_t size, bool& valid) {
  valid = text.contains('-');
  if (!valid) return std::nullopt;
  const auto [first_text, last_text] = split_at(text, '-');
  const auto last = parse_position(last_text);
  if (first_text.empty()) {
    valid = last.has_value();
    if (!valid || *last == 0 || size == 0) return std::nullopt;
    return Range{size - std::min(*last, size), size};
  }
  const auto first = parse_position(first_text);
  valid = first && (last ? *last >= *first : last_text.empty());
  if (!valid || *first >= size) return std::nullopt;
  return Range{*first, last && *last < size ? *last + 1 : size};
}

// Each range that meets a former one is joined to it; quadratic in at most kMaxRanges.
std::vector<Range> joined(const std::vector<Range>& ranges) {
  std::vector<Range> out;
  for (Range range : ranges) {
    std::optional<std::size_t> place;
    for (std::size_t i = 0; i < out.size();) {
      if (out[i].end < range.begin || range.end < out[i].begin) {
        ++i;
        continue;
      }
      range = {std::min(range.begin, out[i].begin), std::max(range.end, out[i].end)};
      place = std::min(place.value_or(i), i);
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
      i = 0;  // the larger range may meet those that were passed
    }
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(std::min(place.value_or(out.size()), out.size())),
               range);
  }
  return out;
}

}  // namespace

RangeSet parse_ranges(std::string_view value, std::uint64_t size) {
  const auto [unit, list] = split_at(value, '=');
  if (!equals_ignoring_case(trim(unit), "bytes")) return {};
  std::vector<Range> ranges;
  std::size_t count = 0;
  bool valid = true;
  for_each_item(list, [&](std::string_view item) {
    if (!valid || ++count > kMaxRanges) return;
    const auto range = parse_range(item, size, valid);
    if (valid && range) ranges.push_back(*range);
  });
  if (!valid || count == 0 || count > kMaxRanges) return {};
  if (ranges.empty()) return {RangeSet::Kind::Unsatisfiable, {}};
  return {RangeSet::Kind::Satisfiable, joined(ranges)};
}

}  // namespace h5mount::serve

#include "salvage_remark.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "h5mount/base/checked.h"
#include "h5mount/view/text_lines.h"

namespace h5mount::tree {

namespace {

// A list of ranges in a remark: where it begins and ends, and what it has.
struct RangeList {
  std::size_t begin = 0, end = 0;
  std::vector<ByteRange> ranges;
};

std::optional<RangeList> find_ranges(std::string_view remark, std::string_view key) {
  const std::string start = fmt::format(R"("{}":[)", key);
  const std::size_t at = remark.find(start);
  if (at == std::string_view::npos) return std::nullopt;
  RangeList out{.begin = at + start.size(), .end = at + start.size(), .ranges = {}};
  while (out.end < remark.size() && remark[out.end] != ']') {
    ByteRange range{};
    const char* const stop = remark.data() + remark.size();
    const std::size_t first = remark.find_first_of("0123456789", out.end);
    if (first == std::string_view::npos) return std::nullopt;
    const auto begin = std::from_chars(remark.data() + first, stop, range.begin);
    if (begin.ec != std::errc() || begin.ptr == stop) return std::nullopt;
    const auto end = std::from_chars(begin.ptr + 1, stop, range.end);
    if (end.ec != std::errc() || end.ptr == stop) return std::nullopt;
    out.ranges.push_back(range);
    out.end = static_cast<std::size_t>(end.ptr - remark.data()) + 1;
    if (out.end < remark.size() && remark[out.end] == ',') ++out.end;
  }
  return out;
}

Result<std::uint64_t> replace(std::string& remark, std::string_view key, const view::ComputedFile& lines,
                              std::uint64_t element_bytes, RequestBudget& budget) {
  std::uint64_t bytes = 0;
  const auto found = find_ranges(remark, key);
  if (!found) return bytes;
  std::string text;
  for (const ByteRange& range : found->ranges) {
    H5_ASSIGN(const std::uint64_t begin, view::line_offset(lines, range.begin / element_bytes, budget));
    H5_ASSIGN(const std::uint64_t end, view::line_offset(lines, divide_up(range.end, element_bytes), budget));
    text += fmt::format("{}[{},{}]", text.empty() ? "" : ",", begin, end);
    bytes += end - begin;
  }
  remark.replace(found->begin, found->end - found->begin, text);
  return bytes;
}

}  // namespace

Result<std::string> remark_in_lines(const std::string& remark, const view::ComputedFile& lines,
                                    std::uint64_t element_bytes, RequestBudget& budget) {
  constexpr std::string_view kFilled = R"("filled":)";
  std::string out = remark;
  if (element_bytes == 0) return out;
  H5_ASSIGN(const std::uint64_t missing, replace(out, "missing", lines, element_bytes, budget));
  H5_TRY(replace(out, "guessed", lines, element_bytes, budget));
  const std::size_t at = out.find(kFilled);
  if (at == std::string::npos) return out;
  const std::size_t digits = at + kFilled.size();
  const std::size_t end = std::min(out.find_first_not_of("0123456789", digits), out.size());
  if (out.substr(digits, end - digits) != "0") out.replace(digits, end - digits, std::to_string(missing));
  return out;
}

}  // namespace h5mount::tree

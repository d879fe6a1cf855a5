// The Range field: RFC 9110 section 14. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace h5mount::serve {

struct Range {
  std::uint64_t begin = 0, end = 0;  // [begin, end), not empty
  bool operator==(const Range&) const = default;
};

struct RangeSet {
  // Ignored: the field is not understood, or asks for more than is reasonable; all bytes are sent, as the
  // standard allows. Unsatisfiable: the field is understood, but no range has any bytes.
  enum class Kind { Ignored, Unsatisfiable, Satisfiable };
  Kind kind = Kind::Ignored;
  std::vector<Range> ranges;  // in the order of the field's value
};

inline constexpr std::size_t kMaxRanges = 256;

// The ranges that a field's value asks for, of `size` bytes. Ranges that overlap or touch are joined, so that
// no byte is sent twice; the remaining ones keep the order of the field.
RangeSet parse_ranges(std::string_view value, std::uint64_t size);

}  // namespace h5mount::serve

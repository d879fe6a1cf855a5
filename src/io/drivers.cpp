#include "h5mount/io/drivers.h"

#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"

namespace h5mount::io {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The position in the pattern of "%", an optional width, "d".
struct NumberPlace {
  std::size_t begin = 0, end = 0;
  bool zeros = false;
  unsigned width = 0;
};

std::optional<NumberPlace> number_place(std::string_view pattern, std::size_t from) {
  NumberPlace place{.begin = from};
  std::size_t i = from + 1;
  if (i < pattern.size() && pattern[i] == '0') place.zeros = true;
  for (; i < pattern.size() && is_digit(pattern[i]); ++i)
    place.width = std::min(place.width * 10 + static_cast<unsigned>(pattern[i] - '0'), 255U);
  if (i >= pattern.size() || (pattern[i] != 'd' && pattern[i] != 'i' && pattern[i] != 'u'))
    return std::nullopt;
  place.end = i + 1;
  return place;
}

std::string padded(unsigned number, const NumberPlace& place) {
  return place.zeros ? fmt::format("{:0{}}", number, place.width) : fmt::format("{:{}}", number, place.width);
}

std::string with_percents_doubled(std::string_view text) {
  std::string out;
  for (const char c : text) out.append(c == '%' ? 2 : 1, c);
  return out;
}

}  // namespace

bool is_family_name(std::string_view path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') continue;
    if (number_place(path, i)) return true;
    if (i + 1 < path.size() && path[i + 1] == '%') ++i;
  }
  return false;
}

std::string family_member_path(std::string_view pattern, unsigned number) {
  std::string out;
  bool numbered = false;
  for (std::size_t i = 0; i < pattern.size();) {
    const auto place = pattern[i] == '%' && !numbered ? number_place(pattern, i) : std::nullopt;
    if (place) {
      out += padded(number, *place);
      numbered = true;
      i = place->end;
      continue;
    }
    out += pattern[i];
    i += pattern.substr(i).starts_with("%%") ? 2U : 1U;
  }
  return out;
}

std::vector<std::string> first_member_candidates(const std::string& path) {
  std::vector<std::string> out{path};
  if (is_family_name(path)) out.push_back(family_member_path(path, 0));
  for (const char* suffix : {"-s.h5", "-m.h5"}) out.push_back(path + suffix);
  return out;
}

std::vector<std::string> family_patterns_of(const std::string& first_member) {
  std::vector<std::string> patterns;
  const std::size_t slash = first_member.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  std::size_t end = first_member.size();
  while (end > name) {
    if (!is_digit(first_member[end - 1])) {
      --end;
      continue;
    }
    std::size_t begin = end;
    while (begin > name && is_digit(first_member[begin - 1])) --begin;
    const std::string_view digits = std::string_view(first_member).substr(begin, end - begin);
    if (std::ranges::all_of(digits, [](char c) { return c == '0'; })) {
      const std::string number = digits.size() == 1 ? "%d" : fmt::format("%0{}d", digits.size());
      patterns.push_back(with_percents_doubled(first_member.substr(0, begin)) + number +
                         with_percents_doubled(first_member.substr(end)));
    }
    end = begin;
  }
  return patterns;
}

Result<std::shared_ptr<ByteSource>> open_family(const std::string& pattern,
                                                std::optional<std::uint64_t> member_size,
                                                std::shared_ptr<ByteSource> first, const OpenMember& open) {
  if (!first) {
    H5_ASSIGN(first, open(family_member_path(pattern, 0)));
  }
  const std::uint64_t length =
      member_size.value_or(0) != 0 ? *member_size : std::max<std::uint64_t>(first->size(), 1);
  std::vector<SourceExtent> extents{{0, length, std::move(first)}};
  for (unsigned number = 1;; ++number) {
    const auto start = checked_mul(number, length);
    if (!start) break;
    auto member = open(family_member_path(pattern, number));
    if (!member && member.error().code() == ErrorCode::NotFound) break;
    if (!member) return fail(member.error());
    if (number >= limits::kMaxFamilyMembers)
      return fail(Error(ErrorCode::LimitExceeded, pattern + " has more members than can be opened"));
    extents.push_back({*start, length, *std::move(member)});
  }
  return make_extent_source(std::move(extents), pattern);
}

Result<std::shared_ptr<ByteSource>> open_multi(const std::string& stem,
                                               const std::vector<MultiMember>& members,
                                               const OpenMember& open) {
  std::vector<MultiMember> sorted = members;
  std::ranges::sort(sorted, {}, &MultiMember::start);
  std::vector<SourceExtent> extents;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    // The names come from the file and are not trusted: each may only append to the stem.
    if (!sorted[i].name.starts_with("%s") || sorted[i].name.find_first_of("/%", 1) != std::string::npos)
      return fail(
          Error(ErrorCode::InvalidValue, "member name of a multi-file set is not \"%s\" and a suffix"));
    const std::uint64_t next = i + 1 < sorted.size() ? sorted[i + 1].start : ~std::uint64_t{0};
    auto member = open(stem + sorted[i].name.substr(2));
    if (member) {
      extents.push_back({sorted[i].start, next - sorted[i].start, *std::move(member)});
    } else if (member.error().code() != ErrorCode::NotFound || sorted[i].start == 0) {
      return fail(member.error());
    }
  }
  return make_extent_source(std::move(extents), stem);
}

}  // namespace h5mount::io

#include "line_input.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>

#include "catalogue_line.h"

namespace h5mount::test {
namespace {

using tree::CatalogueLine;

constexpr std::array kParts = {&CatalogueLine::path,  &CatalogueLine::kind,  &CatalogueLine::shape,
                               &CatalogueLine::dtype, &CatalogueLine::size,  &CatalogueLine::mtime,
                               &CatalogueLine::value, &CatalogueLine::error, &CatalogueLine::attributes};
constexpr std::size_t kMaxBeginnings = 64;

void must_hold(bool condition) {
  if (!condition) std::abort();
}

void check_parts(const CatalogueLine& known, std::string_view line) {
  const std::less_equal<const char*> not_behind;
  must_hold(known.path.size() >= 2 && known.path.front() == '"');
  for (const auto part : kParts) {
    const std::string_view text = known.*part;
    if (text.empty()) continue;
    must_hold(not_behind(line.data(), text.data()));
    must_hold(not_behind(text.data() + text.size(), line.data() + line.size()));
    must_hold(text.find('\n') == std::string_view::npos);
    if (text.front() != '"') continue;
    must_hold(text.size() >= 2 && text.back() == '"');
    must_hold(tree::unescaped(text).size() <= text.size() - 2);
  }
}

}  // namespace

void take_line(std::string_view line) {
  const auto known = tree::take_apart(line);
  if (!known) return;
  check_parts(*known, line);
  const std::size_t step = 1 + line.size() / kMaxBeginnings;
  for (std::size_t size = 0; size < line.size(); size += step) {
    const auto begun = tree::take_apart(line.substr(0, size));
    if (!begun) continue;
    must_hold(!begun->whole);
    for (const auto part : kParts) must_hold(((*begun).*part).empty() || (*begun).*part == (*known).*part);
  }
}

}  // namespace h5mount::test

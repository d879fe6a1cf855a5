#include "join_words.h"

#include <algorithm>
#include <array>
#include <span>

namespace h5mount::cli {

namespace {

// In the order of the enumerations.
constexpr std::array<std::string_view, 3> kOrders = {"coordinate", "name", "given"};
constexpr std::array<std::string_view, 3> kConflicts = {"decode", "refuse", "first"};
constexpr std::array<std::string_view, 2> kGaps = {"fill", "refuse"};

std::size_t number_of(std::span<const std::string_view> names, std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find(names, text) - names.begin());
}

// The first one if nothing is given.
template <class Choice>
void choose(std::span<const std::string_view> names, std::string_view text, Choice& out) {
  if (!text.empty()) out = static_cast<Choice>(number_of(names, text));
}

}  // namespace

bool is_join_word(std::string JoinWords::* word, std::string_view text) {
  if (word == &JoinWords::axis) return !text.empty();
  const std::span<const std::string_view> names = word == &JoinWords::order ? std::span(kOrders)
                                                  : word == &JoinWords::conflict
                                                      ? std::span(kConflicts)
                                                      : std::span<const std::string_view>(kGaps);
  return number_of(names, text) < names.size();
}

Result<join::Options> join_options(const JoinWords& words) {
  if (words.axis.empty()) return fail({ErrorCode::InvalidValue, "options join_* need join="});
  join::Options out;
  H5_ASSIGN(out.axis, join::parse_axis(words.axis));
  out.order_stated = !words.order.empty();
  choose(kOrders, words.order, out.order);
  choose(kConflicts, words.conflict, out.conflict);
  choose(kGaps, words.gap, out.gap);
  return out;
}

}  // namespace h5mount::cli

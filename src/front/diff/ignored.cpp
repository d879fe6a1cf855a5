#include "ignored.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace h5mount::front {
namespace {

// The end of the set that begins at `at` in `glob`; nullopt if it has none, and `[` stands for itself.
std::optional<std::size_t> end_of_set(std::string_view glob, std::size_t at) {
  std::size_t end = at + 1;
  if (end < glob.size() && (glob[end] == '!' || glob[end] == '^')) ++end;
  end = glob.find(']', end + 1);  // a `]` in front is a member
  return end == std::string_view::npos ? std::nullopt : std::optional(end);
}

// `members`: what stands between the brackets.
bool is_in_set(std::string_view members, char c) {
  const bool negated = members.front() == '!' || members.front() == '^';
  if (negated) members.remove_prefix(1);
  const auto byte = [](char one) { return static_cast<unsigned char>(one); };
  bool found = false;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool range = i + 2 < members.size() && members[i + 1] == '-';
    found = found || (byte(members[i]) <= byte(c) && byte(c) <= byte(members[range ? i + 2 : i]));
    if (range) i += 2;
  }
  return found != negated;
}

// Matches one character, and moves `at` behind what stands for it in the glob.
bool matches_one(std::string_view glob, std::size_t& at, char c, Star star) {
  const bool any = c != '/' || star == Star::CrossesSlash;
  if (glob[at] == '?') {
    ++at;
    return any;
  }
  if (glob[at] == '[')
    if (const auto end = end_of_set(glob, at)) {
      const std::string_view members = glob.substr(at + 1, *end - at - 1);
      at = *end + 1;
      return any && is_in_set(members, c);
    }
  if (glob[at] == '\\' && at + 1 < glob.size()) ++at;
  return glob[at++] == c;
}

// Where a `*` stands, and how much of the text it has taken.
struct StarPlace {
  std::size_t after, taken;
};

// Whether the pattern is one for attributes: it has an `@` outside of sets and of `\@`.
bool names_attribute(std::string_view glob) {
  for (std::size_t i = 0; i < glob.size(); ++i) {
    if (glob[i] == '@') return true;
    if (glob[i] == '\\') ++i;
    if (glob[i] == '[')
      if (const auto end = end_of_set(glob, i)) i = *end;
  }
  return false;
}

}  // namespace

// A star takes one more character whenever what follows it does not match; only the last star of a kind needs
// to be tried again: what an earlier one could take, a later one can take too. A star that stops at a slash
// cannot, so then the last one that crosses it goes on.
bool glob_matches(std::string_view glob, std::string_view text, Star star) {
  std::optional<StarPlace> stopping, crossing;
  std::size_t at = 0, next = 0;
  while (next < text.size() || at < glob.size()) {
    if (at < glob.size() && glob[at] == '*') {
      const bool both = at + 1 < glob.size() && glob[at + 1] == '*';
      while (at < glob.size() && glob[at] == '*') ++at;
      if (both || star == Star::CrossesSlash) {
        crossing = {at, next};
        stopping.reset();
      } else {
        stopping = {at, next};
      }
      continue;
    }
    if (at < glob.size() && next < text.size() && matches_one(glob, at, text[next], star)) {
      ++next;
      continue;
    }
    if (stopping && stopping->taken < text.size() && text[stopping->taken] != '/') {
      at = stopping->after;
      next = ++stopping->taken;
    } else if (crossing && crossing->taken < text.size()) {
      stopping.reset();
      at = crossing->after;
      next = ++crossing->taken;
    } else {
      return false;
    }
  }
  return true;
}

Ignored::Ignored(const std::vector<std::string>& globs) {
  for (const std::string& glob : globs) {
    const bool attribute = names_attribute(glob);
    const bool whole = glob.starts_with('/') || glob.starts_with(attribute ? "*" : "**");
    (attribute ? attributes_ : paths_).push_back(whole ? glob : "/" + glob);
    while (!attribute && paths_.back().size() > 1 && paths_.back().ends_with('/')) paths_.back().pop_back();
  }
}

bool Ignored::has(std::string_view path) const {
  return std::ranges::any_of(paths_, [&](std::string_view glob) {
    // A `*` stands for a name or a part of one, and the root has none.
    if (path == "/") return glob == "/" || glob == "**" || glob == "/**";
    return glob_matches(glob, path, Star::StopsAtSlash);
  });
}

Ignored::Attribute Ignored::attribute(std::string_view path, std::string_view name) const {
  if (attributes_.empty()) return Attribute::Counts;
  Attribute out = Attribute::Counts;
  const std::string place = fmt::format("{}@{}", path, name);
  for (const std::string& glob : attributes_) {
    if (!glob_matches(glob, place, Star::CrossesSlash)) continue;
    if (glob.starts_with("*@")) return Attribute::IgnoredEverywhere;
    out = Attribute::IgnoredHere;
  }
  return out;
}

}  // namespace h5mount::front

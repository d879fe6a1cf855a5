#include "h5mount/tree/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/hash.h"
#include "h5mount/base/text.h"

namespace h5mount::tree {

namespace {

constexpr std::size_t kHashTail = 17;  // `~` and 16 digits
constexpr std::string_view kReservedPrefix = "hdf5.";
constexpr std::string_view kEscapedPrefix = "%68df5.";

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

enum class AtSign : std::uint8_t { Stands, Escaped };

// Applies all escapes except those for whole names, and does not cut.
void append_escaped(std::string_view name, AtSign at, std::string& out) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '/')
      out += "%2F";
    else if (c == '\0')
      out += "%00";
    else if (c == '@' && at == AtSign::Escaped)
      out += "%40";
    else if (c == '%' && parse_hex_byte(name.substr(i + 1)))
      out += "%25";
    else
      out += c;
  }
}

std::string escaped(std::string_view name, AtSign at = AtSign::Stands) {
  if (name.empty()) return "%";
  if (name == "%") return "%25";
  std::string out;
  out.reserve(name.size());
  append_escaped(name, at, out);
  return out;
}

// The same for a name that stands alone or begins a longer one: it must not be `.` or `..`.
std::string escaped_whole(std::string_view name, AtSign at) {
  if (name == ".") return "%2E";
  if (name == "..") return "%2E%2E";
  return escaped(name, at);
}

// The character that `three` escapes; NUL if it is not an escape, or is that of NUL.
char escaped_by(std::string_view three, AtSign at) {
  if (three == "%25") return '%';
  if (three == "%2F") return '/';
  return three == "%40" && at == AtSign::Escaped ? '@' : '\0';
}

// The reverse of append_escaped.
void append_unescaped(std::string_view shown, AtSign at, std::string& out) {
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::string_view three = shown.substr(i, 3);
    const char plain = escaped_by(three, at);
    if (plain == '\0' && three != "%00") {
      out += shown[i];
      continue;
    }
    out += plain;
    i += 2;
  }
}

std::string unescaped(std::string_view shown, AtSign at = AtSign::Stands) {
  if (shown == "%") return {};
  std::string out;
  out.reserve(shown.size());
  append_unescaped(shown, at, out);
  return out;
}

std::optional<std::string> decoded_whole(std::string_view shown, AtSign at) {
  if (shown.size() > kMaxShownName) return std::nullopt;
  if (shown == "%2E") return ".";
  if (shown == "%2E%2E") return "..";
  std::string name = unescaped(shown, at);
  if (escaped_whole(name, at) != shown) return std::nullopt;
  return name;
}

std::string within_bound(std::string_view name, std::string encoded, std::size_t bound) {
  return encoded.size() <= bound ? std::move(encoded) : cut_name(name, encoded, bound, 0);
}

}  // namespace

bool is_plain_name(std::string_view name) {
  const auto is_plain = [](char c) { return c != '/' && c != '%' && c != '\0' && c != '~'; };
  return !name.empty() && name.size() <= kMaxShownName && name[0] != '.' &&
         std::ranges::all_of(name, is_plain);
}

std::string encode_name(std::string_view name) {
  return within_bound(name, escaped_whole(name, AtSign::Stands), kMaxShownName);
}

std::string encode_name(std::string_view name, std::string_view suffix) {
  return within_bound(name, escaped_whole(name, AtSign::Stands), kMaxShownName - suffix.size())
      .append(suffix);
}

std::optional<std::string> decode_name(std::string_view shown) {
  return decoded_whole(shown, AtSign::Stands);
}

std::string encode_name_without_at(std::string_view name) {
  return within_bound(name, escaped_whole(name, AtSign::Escaped), kMaxShownName);
}

std::optional<std::string> decode_name_without_at(std::string_view shown) {
  return decoded_whole(shown, AtSign::Escaped);
}

std::string encode_attribute_place(const AttributePlace& place) {
  std::string shown = place.object ? escaped_whole(*place.object, AtSign::Escaped) : std::string();
  shown += '@';
  shown += escaped(place.attribute);
  return shown.size() <= kMaxShownName ? shown : cut_name(shown, shown, kMaxShownName, 0);
}

std::optional<AttributePlace> decode_attribute_place(std::string_view shown) {
  const std::size_t at = shown.find('@');
  if (at == std::string_view::npos) return std::nullopt;
  AttributePlace place{.object = {}, .attribute = unescaped(shown.substr(at + 1))};
  if (at > 0) {
    place.object = decode_name_without_at(shown.substr(0, at));
    if (!place.object) return std::nullopt;
  }
  if (encode_attribute_place(place) != shown) return std::nullopt;
  return place;
}

std::string encode_attribute_name(std::string_view name) {
  if (!name.starts_with(kReservedPrefix)) return within_bound(name, escaped(name), kMaxShownAttribute);
  std::string out(kEscapedPrefix);
  append_escaped(name.substr(kReservedPrefix.size()), AtSign::Stands, out);
  return within_bound(name, std::move(out), kMaxShownAttribute);
}

std::optional<std::string> decode_attribute_name(std::string_view shown) {
  std::string name;
  if (shown.starts_with(kEscapedPrefix)) {
    name = kReservedPrefix;
    append_unescaped(shown.substr(kEscapedPrefix.size()), AtSign::Stands, name);
  } else {
    name = unescaped(shown);
  }
  if (name.size() > 4 * kMaxShownAttribute || encode_attribute_name(name) != shown) return std::nullopt;
  return name;
}

bool may_be_cut(std::string_view shown) {
  if (shown.size() < kHashTail || shown[shown.size() - kHashTail] != '~') return false;
  return std::ranges::all_of(shown.substr(shown.size() - kHashTail + 1),
                             [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string cut_name(std::string_view name, std::string_view encoded, std::size_t bound, unsigned attempt) {
  std::size_t kept = std::min(encoded.size(), bound - kHashTail);
  while (kept > 0 && kept < encoded.size() && is_continuation(encoded[kept])) --kept;
  // The attempt is hashed first: FNV-1a states that are equal remain equal whatever follows.
  std::string hashed(attempt, '~');
  hashed += name;
  return fmt::format("{}~{:016x}", encoded.substr(0, kept), fnv1a(hashed));
}

std::string UniqueNames::add(std::string_view name, std::string encoded, std::size_t bound) {
  if (!may_be_cut(encoded)) return encoded;
  // Only damaged groups contain a name twice. It then gets the same shown name again: attempts for each of
  // thousands of copies would take quadratic time.
  const auto [known, fresh] = shown_.try_emplace(std::string(name));
  if (!fresh) return known->second;
  std::string shown = encoded;
  for (unsigned attempt = 0; !used_.insert(shown).second; ++attempt)
    shown = cut_name(name, encoded, bound, attempt);
  known->second = shown;
  return shown;
}

}  // namespace h5mount::tree

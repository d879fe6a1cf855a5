// Names: what a file is called whose link (or attribute) may be called anything, by docs/promise.md 'Names'.
//
// A name is shown byte for byte, but for what a file name cannot be: `/`, NUL, a whole `.` or `..`, the empty
// name
// (`%`), the name `%` (`%25`) and a `%` that two hex digits follow (`%25`). A shown name over the bound is
// cut at a UTF-8 boundary and ends in `~` and 16 hex digits, the FNV-1a of the whole name. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace h5mount::tree {

inline constexpr std::size_t kMaxShownName = 255;       // NAME_MAX
inline constexpr std::size_t kMaxShownAttribute = 250;  // what `user.` leaves of an xattr's name

std::uint64_t fnv1a(std::string_view bytes);

// A link's name as shown.
std::string encode_name(std::string_view name);
// The same with a suffix, which is kept where the name is cut.
std::string encode_name(std::string_view name, std::string_view suffix);
// The link name that a shown name stands for by itself; nothing where no name is shown so, or only a cut one.
std::optional<std::string> decode_name(std::string_view shown);

// An attribute's name as shown behind `user.`: `hdf5.` in front becomes `%68df5.`, and `.` and `..` stand.
std::string encode_attribute_name(std::string_view name);
std::optional<std::string> decode_attribute_name(std::string_view shown);

// ---- names with an attribute's behind them, as NeXus writes paths: `object@attribute`
// An `@` in the object's own name is `%40`, so that the first one divides.

// The object's name alone.
std::string encode_name_without_at(std::string_view name);
std::optional<std::string> decode_name_without_at(std::string_view shown);

// An attribute of an object; of the root, which has no name, `@attribute`. One that is cut ends in the hash
// of all of it as it would be shown.
struct AttributePlace {
  std::optional<std::string> object;
  std::string attribute;
  bool operator==(const AttributePlace&) const = default;
};
std::string encode_attribute_place(const AttributePlace& place);
// Nothing where no place is shown so, or only a cut one.
std::optional<AttributePlace> decode_attribute_place(std::string_view shown);

// True where a shown name may be a cut one: its link is then found by listing, not by looking it up.
bool may_be_cut(std::string_view shown);

// The name cut to the bound whatever its length. `attempt` counts up where even cut names meet.
std::string cut_name(std::string_view name, std::string_view encoded, std::size_t bound, unsigned attempt);

// Gives the names of one directory, in its order, so that no two are equal: the later of two that meet is cut
// and hashed too. Only names that may be cut can meet, so only these are remembered.
class NameGiver {
 public:
  // `encoded`: the name as encode_* gives it.
  std::string give(std::string_view name, std::string encoded, std::size_t bound = kMaxShownName);

 private:
  std::unordered_set<std::string> given_;
  std::unordered_map<std::string, std::string> shown_;
};

}  // namespace h5mount::tree

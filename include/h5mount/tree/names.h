// Names: the file name of a link (or attribute), which may have any name itself, as in docs/promise.md
// 'Names'.
//
// A name is shown byte for byte, except what a file name cannot be: `/`, NUL, a whole `.` or `..`, the empty
// name (`%`), the name `%` (`%25`) and a `%` that two hex digits follow (`%25`). A shown name over the bound
// is cut at a UTF-8 boundary and ends in `~` and 16 hex digits, the FNV-1a of the whole name. Threads: any.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace h5mount::tree {

inline constexpr std::size_t kMaxShownName = 255;       // NAME_MAX
inline constexpr std::size_t kMaxShownAttribute = 250;  // 255 less `user.`

// The directory at the root that shows more than the file's own tree: reachable, but not listed.
inline constexpr std::string_view kHiddenName = ".h5";

// True only if a link's name is shown byte for byte and does not look like a cut one, which is quick to
// determine for most names. If it is false, encode_name has the answer.
bool is_plain_name(std::string_view name);

// The shown name of a link.
std::string encode_name(std::string_view name);
// The shown name with a suffix, which is kept if the name is cut.
std::string encode_name(std::string_view name, std::string_view suffix);
// The link name that a shown name stands for; nullopt if no name is shown that way, or only a cut one.
std::optional<std::string> decode_name(std::string_view shown);

// An attribute's shown name after `user.`: a leading `hdf5.` becomes `%68df5.`; `.` and `..` are allowed.
std::string encode_attribute_name(std::string_view name);
std::optional<std::string> decode_attribute_name(std::string_view shown);

// ---- names followed by an attribute's, as in NeXus paths: `object@attribute` An `@` in the object's own
// name is `%40`, so that the first `@` separates the two.

// The object's name alone.
std::string encode_name_without_at(std::string_view name);
std::optional<std::string> decode_name_without_at(std::string_view shown);

// An attribute of an object, or of the root, which has no name (`@attribute`). A cut name ends in the hash of
// the whole shown name.
struct AttributePlace {
  std::optional<std::string> object;
  std::string attribute;
  bool operator==(const AttributePlace&) const = default;
};
std::string encode_attribute_place(const AttributePlace& place);
// Returns nullopt if no attribute is shown under that name, or only a cut one.
std::optional<AttributePlace> decode_attribute_place(std::string_view shown);

// True if a shown name may be a cut one: its link is then found by listing, not by a lookup.
bool may_be_cut(std::string_view shown);

// The name, cut to the bound whatever its length. `attempt` is increased as long as even the cut names are
// equal.
std::string cut_name(std::string_view name, std::string_view encoded, std::size_t bound, unsigned attempt);

// Makes the names of one directory unique, in its order: the later of two equal ones is cut and hashed too.
// Only names that may be cut can be equal, so only these are remembered.
class UniqueNames {
 public:
  // `encoded`: the result of encode_*.
  std::string add(std::string_view name, std::string encoded, std::size_t bound = kMaxShownName);

 private:
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, std::string> shown_;
};

}  // namespace h5mount::tree

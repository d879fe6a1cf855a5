// The attributes of an object as the mount shows them: their names, their values as text, and which values
// exceed an extended attribute.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "../core/served_file.h"

namespace h5mount::tree {

inline constexpr std::size_t kMaxXattrBytes = 65'536;  // XATTR_SIZE_MAX and XATTR_LIST_MAX

// The attributes' own names, in order, each once; `damage`: why some may be missing.
struct AttributeNames {
  std::vector<std::string> names;
  std::optional<Error> damage;
};
AttributeNames attribute_names(const OpenedObject& object);

// The names of its extended attributes, without `user.`, in order. For most types arithmetic decides whether
// a value is too long; other values are written up to the limit. The result is cached with the object.
struct XattrNames {
  std::vector<std::string> listed;
  std::vector<std::string> large;  // the value is over kMaxXattrBytes
};
Result<XattrNames> xattr_names(ServedFile& file, const OpenedObject& object, RequestBudget& budget);

// The attribute behind an extended attribute's name (without `user.`). Fails with NotFound.
Result<object::Attribute> find_xattr(const OpenedObject& object, std::string_view shown);

// The text of a value. Fails with TooLarge if it is longer than `most_bytes`; no more than that is written
// then.
Result<std::string> attribute_text(ServedFile& file, const object::Attribute& attribute,
                                   std::size_t most_bytes, RequestBudget& budget);
// The length of the text, computed without holding the text in memory.
Result<std::size_t> attribute_text_size(ServedFile& file, const object::Attribute& attribute,
                                        RequestBudget& budget);

}  // namespace h5mount::tree

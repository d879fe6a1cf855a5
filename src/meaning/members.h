// What stands in a group: texts of attributes, and objects by their names. Pure but for the file, which is
// read. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/object/object.h"
#include "h5mount/text/value_text.h"

namespace h5mount::meaning {

// What cannot be read counts as absent, unless the request failed.
template <class T>
Result<std::optional<T>> if_readable(Result<T> read) {
  if (read) return std::optional<T>(*std::move(read));
  if (is_passing(read.error())) return fail(read.error());
  return std::nullopt;
}

// The strings of an attribute, the first ones if they are more than `most`; a long one is cut. Empty: there
// is no such attribute, or it has others.
Result<std::vector<std::string>> attribute_texts(const object::Object& object,
                                                 const text::ValueContext& values, std::string_view name,
                                                 std::size_t most);

// The address of the object that a hard link of a group leads to; nullopt: there is none.
Result<std::optional<std::uint64_t>> member_named(const object::Group& group, std::string_view name);

}  // namespace h5mount::meaning

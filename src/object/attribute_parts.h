// What the two sources of attributes share.
#pragma once

#include "h5mount/object/object.h"

namespace h5mount::object::attribute_parts {

// From an attribute message's body, which `owner` keeps alive. An error only where not even the name is
// known; what is wrong with type, space or data goes to `damage`.
Result<Attribute> make_attribute(const metadata::FileMetadata& file, format::Cursor cursor,
                                 std::shared_ptr<const void> owner, AttributeDetail detail);

// Dense storage, in creation order where it is tracked, else in heap order (that of writing).
Status for_each_dense(const metadata::FileMetadata& file, const format::AttributeInfo& info,
                      const std::function<bool(const Attribute&)>& visit,
                      const std::function<void(const Error&)>& damaged, AttributeDetail detail,
                      const std::function<void(Attribute&)>& examine);
// By the name index. NotFound.
Result<Attribute> find_dense(const metadata::FileMetadata& file, const format::AttributeInfo& info,
                             std::string_view name);

}  // namespace h5mount::object::attribute_parts

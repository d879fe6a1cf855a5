// Shared by the sources of attributes.
#pragma once

#include "h5mount/object/object.h"

namespace h5mount::object::attribute_parts {

// Makes an attribute from an attribute message's body, which `owner` keeps alive. Fails only if the name
// cannot be decoded; errors of type, space or data are stored in `damage`.
Result<Attribute> make_attribute(const metadata::FileMetadata& file, format::Cursor cursor,
                                 std::shared_ptr<const void> owner, AttributeDetail detail);

// Visits dense storage, in creation order if it is tracked, else in heap order (that of writing).
Status for_each_dense(const metadata::FileMetadata& file, const format::AttributeInfo& info,
                      const std::function<bool(const Attribute&)>& visit,
                      const std::function<void(const Error&)>& damaged, AttributeDetail detail,
                      const std::function<void(Attribute&)>& examine);
// Searches the name index. Fails with NotFound if the name is absent.
Result<Attribute> find_dense(const metadata::FileMetadata& file, const format::AttributeInfo& info,
                             std::string_view name);

}  // namespace h5mount::object::attribute_parts

// Attributes that define a dataset's meaning: dimension scales, images.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "h5mount/object/object.h"
#include "h5mount/text/value_text.h"

namespace h5mount::view {

// Returns nullopt if there is no such attribute or its value cannot be read.
std::optional<object::Attribute> attribute_of(const metadata::FileMetadata& file,
                                              const object::Object& object, std::string_view name);

// The address of the first object that a value refers to; 0 if it refers to none.
Result<std::uint64_t> first_reference(const text::ValueContext& values, const format::Datatype& type,
                                      ByteSpan element);

}  // namespace h5mount::view

// Attributes that say what the dimensions of a dataset are: HDF5's dimension scales, and the parts of them
// that netCDF-4 uses. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/object/object.h"
#include "h5mount/text/value_text.h"

namespace h5mount::meaning {

// Returns nullopt if there is no such attribute or its value cannot be read.
std::optional<object::Attribute> attribute_of(const metadata::FileMetadata& file,
                                              const object::Object& object, std::string_view name);
// Of one string; empty if there is no such attribute.
std::string string_of(const metadata::FileMetadata& file, const object::Object& object,
                      std::string_view name);

// The address of the first object that a value refers to; 0 if it refers to none.
Result<std::uint64_t> first_reference(const text::ValueContext& values, const format::Datatype& type,
                                      ByteSpan element);

// The role of a dataset as a dimension, according to its attributes.
struct DimensionRole {
  bool is_scale = false;        // it holds a dimension's values
  bool without_values = false;  // it represents a dimension only: no variable
  bool has_scales = false;      // its dimensions refer to scales
  bool plays_part() const { return is_scale || has_scales; }
};
DimensionRole dimension_role(const metadata::FileMetadata& file, const object::Object& dataset);

// The address of the first scale of each dimension; 0 if it has none. A one-dimensional scale is its own
// scale.
std::vector<std::uint64_t> dimension_scales(const text::ValueContext& values, const object::Object& object,
                                            std::size_t rank, DimensionRole role);

}  // namespace h5mount::meaning

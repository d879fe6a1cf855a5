// The meaning that netCDF-4 gives to HDF5 (https://docs.unidata.ucar.edu/netcdf-c, "NetCDF-4 File Format"):
// dimension scales are dimensions, some of which have no values of their own, and attributes of the library
// are no attributes of the user's. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/object/object.h"
#include "h5mount/text/value_text.h"

namespace h5mount::view {

// What variables are called in the file that have the name of a dimension without being its values.
inline constexpr std::string_view kNonCoordinatePrefix = "_nc4_non_coord_";

// What the attributes of a dataset say of its dimensions.
struct DimensionRole {
  bool is_scale = false;        // it is a dimension's values
  bool without_values = false;  // it stands for a dimension only: no variable
  bool has_scales = false;      // its dimensions name theirs
  bool plays_part() const { return is_scale || has_scales; }
};
DimensionRole dimension_role(const metadata::FileMetadata& file, const object::Object& dataset);

// A name for each dimension: its scale's, where the scale is as long; else one made of its length, so that it
// is the same wherever that length is met. No two dimensions of a dataset share a name.
std::vector<std::string> dimension_names(const text::ValueContext& values, const object::Object& object,
                                         const object::DatasetDescription& dataset, DimensionRole role);

// The attributes as the members of a JSON object, without its braces: strict JSON, in which numbers that it
// lacks are strings ("NaN"), and values of one element are no lists. netCDF's own are left out.
struct AttributesText {
  std::string members;
  std::string fill_value;  // that of `_FillValue`, where it is a number of the type that was asked for
};
// Where `_FillValue` of a dataset of the type `fill_type` (null: of none) belongs. Metadata: to
// AttributesText::fill_value, as version 2 of Zarr has no other. Version3: to the attributes, in the form
// that the registry of Zarr's extensions gives it; one that has no such form is left out.
enum class FillAttribute : std::uint8_t { Metadata, Version3 };
AttributesText attributes_text(const text::ValueContext& values, const object::Object& object,
                               DimensionRole role, const format::Datatype* fill_type, FillAttribute form);

}  // namespace h5mount::view

// The netCDF-4 conventions for HDF5 files (https://docs.unidata.ucar.edu/netcdf-c, "NetCDF-4 File Format"):
// dimension scales are dimensions, some of which have no values of their own; some attributes belong to the
// library and not to the user. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/object/object.h"
#include "h5mount/text/value_text.h"

namespace h5mount::view {

// The prefix of a variable that has the name of a dimension but does not hold its values.
inline constexpr std::string_view kNonCoordinatePrefix = "_nc4_non_coord_";

// The role of a dataset as a dimension, according to its attributes.
struct DimensionRole {
  bool is_scale = false;        // it holds a dimension's values
  bool without_values = false;  // it represents a dimension only: no variable
  bool has_scales = false;      // its dimensions refer to scales
  bool plays_part() const { return is_scale || has_scales; }
};
DimensionRole dimension_role(const metadata::FileMetadata& file, const object::Object& dataset);

// A name for each dimension: its scale's, where the scale is as long; else one derived from its length, so
// that dimensions of one length share a name across datasets. No two dimensions of a dataset share a name.
std::vector<std::string> dimension_names(const text::ValueContext& values, const object::Object& object,
                                         const object::DatasetDescription& dataset, DimensionRole role);

// The attributes as the members of a JSON object, without its braces: strict JSON; numbers that it lacks
// become strings ("NaN"), and values of one element are not lists. netCDF's own attributes are omitted.
struct AttributesText {
  std::string members;
  std::string fill_value;  // the value of `_FillValue`, where it is a number of type `fill_type`
};
// Where `_FillValue` of a dataset of type `fill_type` (null: not a dataset) is written. Metadata: to
// AttributesText::fill_value, the only form in version 2 of Zarr. Version3: to the attributes, in the form
// that the registry of Zarr's extensions defines; omitted where it defines none.
enum class FillAttribute : std::uint8_t { Metadata, Version3 };
AttributesText attributes_text(const text::ValueContext& values, const object::Object& object,
                               DimensionRole role, const format::Datatype* fill_type, FillAttribute form);

}  // namespace h5mount::view

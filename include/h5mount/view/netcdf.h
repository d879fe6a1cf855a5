// The netCDF-4 conventions for HDF5 files (https://docs.unidata.ucar.edu/netcdf-c, "NetCDF-4 File Format"):
// dimension scales are dimensions, some of which have no values of their own; some attributes belong to the
// library and not to the user. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/meaning/dimensions.h"
#include "h5mount/object/object.h"
#include "h5mount/text/value_text.h"

namespace h5mount::view {

// The prefix of a variable that has the name of a dimension but does not hold its values.
inline constexpr std::string_view kNonCoordinatePrefix = "_nc4_non_coord_";

using meaning::dimension_role;
using meaning::dimension_scales;
using meaning::DimensionRole;

// The number by which netCDF identifies the dimension that a scale represents, and the numbers of the
// dimensions of a coordinate variable, which may have several but cannot refer to scales. Return nullopt and
// an empty list if the library wrote no such attribute.
std::optional<std::uint32_t> dimension_id(const metadata::FileMetadata& file, const object::Object& scale);
std::vector<std::uint32_t> coordinate_ids(const metadata::FileMetadata& file, const object::Object& variable);

// Whether netCDF has variables of this type. `committed`: it is a named datatype.
bool is_netcdf_type(const format::Datatype& type, bool committed);

// The element that netCDF-C gives where a variable is shorter than its unlimited dimension: the fill value
// that the file states or, as netCDF-C does not take HDF5's default of zeros for one, that of netCDF for the
// type.
std::vector<std::byte> netcdf_fill_element(const object::DatasetDescription& dataset);

// The attributes as the members of a JSON object, without its braces. Values of one element are not lists,
// numbers are written so that a reader of doubles gets their exact value, and enumerations are numbers.
// netCDF's own attributes are omitted.
struct AttributesText {
  std::string members;
  std::string fill_value;  // JSON: `_FillValue` as the fill value of an array of `fill_type`, if it is one
};
// Version2: NaN and the infinities are written as they are, as zarr-python and xarray write them and netCDF-C
// reads them; `_FillValue` of a dataset of type `fill_type` (null: not a dataset) is also given as
// AttributesText::fill_value. StrictVersion2: strict JSON in which they are strings, but infinities in lists
// of numbers 1e999. What readers take for missing anyway is omitted: `_FillValue` that is given as
// fill_value, and NaN as the `missing_value` of floats. Version3: strict JSON; `_FillValue` has the form that
// the registry of Zarr's extensions defines, and is omitted if that defines none.
enum class AttributeForm : std::uint8_t { Version2, StrictVersion2, Version3 };
AttributesText attributes_text(const text::ValueContext& values, const object::Object& object,
                               DimensionRole role, const format::Datatype* fill_type, AttributeForm form);

}  // namespace h5mount::view

// Grids of HDF-EOS5 ("HDF-EOS5 Data Model"), which the text StructMetadata.0 describes. Threads: any.
#pragma once

#include <optional>
#include <string_view>

#include "geo_systems.h"

namespace h5mount::meaning {

struct EosGrid {
  double left = 0, top = 0;  // the outer corner of the first pixel
  double column_step = 0, row_step = 0;
  GeoSystem system;
};

// The grid whose field the dataset is; nullopt: it is none of YDim rows and XDim columns, or what is said of
// it is damaged. `path`: of the dataset. Errors are those that are passing.
Result<std::optional<EosGrid>> eos_grid_of(const Subject& subject, std::string_view path);

// Whether the file has grids of HDF-EOS5, or other data of it.
Result<bool> is_hdf_eos(const Subject& subject);

}  // namespace h5mount::meaning

// Coordinate reference systems as the keys of GeoTIFF (OGC 19-008r4), from what CF says of them ("Grid
// Mappings"; EPSG codes in WKT or by themselves). Threads: any.
#pragma once

#include <string>
#include <vector>

#include "h5mount/dataset/placement.h"
#include "h5mount/meaning/numbers.h"

namespace h5mount::meaning {

struct GeoSystem {
  std::vector<dataset::GeoKey> keys;
  // How user.hdf5.decoded calls it; empty: it cannot be said, and `reason` is why.
  std::string name;
  std::string reason = {};  // a short phrase

  static GeoSystem without(std::string reason);
};

// `mapping`: the grid mapping variable, of which only attributes are read; null: there is none.
//
// Of latitudes and longitudes.
Result<GeoSystem> geographic_system(const Subject* mapping);
// Of coordinates of a projection in metres, which are `factor` times those of the file.
Result<GeoSystem> projected_system(const Subject& mapping, double factor);
// The sinusoidal projection of a sphere; degrees and metres.
GeoSystem sinusoidal_system(double radius, double longitude, double easting, double northing);
GeoSystem wgs84_system();

}  // namespace h5mount::meaning

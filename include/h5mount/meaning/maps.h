// Maps: datasets whose last two dimensions are places on the Earth, as CF ("Coordinate Types", "Grid
// Mappings") or HDF-EOS5 says. Threads: any.
#pragma once

#include <optional>
#include <string>

#include "h5mount/meaning/decoding.h"

namespace h5mount::meaning {

struct Map {
  std::string text;                   // user.hdf5.decoded of the decoded dataset as a map
  dataset::DerivationPtr derivation;  // of the decoded dataset: that with its place
};

// nullopt: it is none. `decoding`: of the dataset, or null. `path`: of the dataset, by which what says where
// it is is found; empty: it is asked for where it is needed. Reads the coordinates. Damage of what says it
// makes a dataset no map; errors are those that are passing.
Result<std::optional<Map>> map_of(const Subject& subject, const Decoding* decoding, std::string_view path);

}  // namespace h5mount::meaning

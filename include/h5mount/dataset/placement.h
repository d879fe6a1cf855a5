// Placement: where the elements of a dataset's last two dimensions are on the Earth, for views that can say
// it. Immutable; threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "h5mount/dataset/derivation.h"

namespace h5mount::dataset {

// A key of the coordinate system, as GeoTIFF numbers them (OGC 19-008r4).
struct GeoKey {
  std::uint16_t id = 0;
  std::variant<std::uint16_t, double, std::string> value;
};

struct Placement {
  // Elements are pixels: the outer corner of the first one, and the steps to the next column and row, in
  // units of the system.
  double left = 0, top = 0;
  double column_step = 1, row_step = -1;
  std::vector<GeoKey>
      keys;  // by their numbers; at most 30, and at most 256 bytes of text. None: it is unknown

  std::uint64_t rows = 0, columns = 0;  // the last two dimensions

  // Texts are character data of XML.
  std::string no_data = {};  // the number that stands for missing ones; empty: none
  std::string units = {};    // of the elements
  // For each dimension before: what its positions are. Those behind the last text have none.
  struct Axis {
    std::string name = {};
    std::string text = {};                 // of all positions, one after the other
    std::vector<std::uint32_t> ends = {};  // of each, in `text`
    std::size_t longest = 0;
    std::string units = {};
    std::shared_ptr<const void> charge = {};  // of the memory
  };
  std::vector<Axis> axes = {};
};

// The same elements with that placement, which they have as long as their rows and columns are as many.
DerivationPtr derive_placed(std::shared_ptr<const Placement> placement);

}  // namespace h5mount::dataset

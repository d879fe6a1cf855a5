// Serialised dataspace selections (specification 3.0 "Dataspace Selection"; docs/format-notes.md
// "Selections"): in virtual dataset mappings, region references and sparse chunks. Types none, points,
// hyperslab, all; versions 1 to 3.
#pragma once

#include <cstdint>
#include <vector>

#include "h5mount/format/cursor.h"

namespace h5mount::format {

struct Selection {
  enum class Kind : std::uint8_t { None = 0, Points = 1, Hyperslab = 2, All = 3 };
  Kind kind = Kind::None;
  std::uint8_t version = 0;
  std::uint32_t rank = 0;  // 0 for None and All
  // Points: rank coordinates each, in list order.
  std::vector<std::uint64_t> points;
  // Hyperslab, regular: rank entries each. count or block may be kUnlimited.
  bool regular = false;
  std::vector<std::uint64_t> start, stride, count, block;
  // Hyperslab, irregular: per block rank start coordinates, then rank end coordinates (inclusive).
  std::vector<std::uint64_t> blocks;
};

// Leaves the cursor after the selection.
Result<Selection> decode_selection(Cursor& cursor);

}  // namespace h5mount::format

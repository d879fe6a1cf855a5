// The dataspace message (specification IV.A.2.b). Versions 1 and 2.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "h5mount/base/checked.h"
#include "h5mount/format/cursor.h"

namespace h5mount::format {

enum class DataspaceKind : std::uint8_t { Scalar = 0, Simple = 1, Null = 2 };

struct Dataspace {
  DataspaceKind kind = DataspaceKind::Scalar;
  std::vector<std::uint64_t> dims;  // elements, slowest first; at most limits::kMaxRank
  // Same length, none below the current size; kUnlimited if unlimited.
  std::vector<std::uint64_t> max_dims;
  // A maximum that is stored below the current size, which counts instead; its name is empty otherwise.
  Field max_below;

  std::size_t rank() const { return dims.size(); }

  // Number of elements: 1 for a scalar, 0 for null; nullopt if it does not fit in 64 bits.
  std::optional<std::uint64_t> element_count() const {
    if (kind == DataspaceKind::Null) return 0;
    std::uint64_t n = 1;
    bool overflow = false;
    for (const std::uint64_t d : dims) {
      if (d == 0) return 0;
      const auto p = checked_mul(n, d);
      if (!p)
        overflow = true;
      else
        n = *p;
    }
    if (overflow) return std::nullopt;
    return n;
  }
};

Result<Dataspace> decode_dataspace(Cursor& cursor);

}  // namespace h5mount::format

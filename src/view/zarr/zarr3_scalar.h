// The scalar types of Zarr version 3, which have no members.
#pragma once

#include <cstdint>
#include <string>

#include "../numpy_type.h"

namespace h5mount::view {

struct Zarr3Scalar {
  enum class Kind : std::uint8_t { Bool, Signed, Unsigned, Float, Complex, String, Raw, Time };
  Kind kind = Kind::Raw;
  std::string data_type = {};      // JSON
  std::uint64_t bytes = 0;         // of an element
  std::uint32_t number_bytes = 1;  // of the unit with a byte order: half of a complex number
  bool big_endian = false;
};

// `numpy`: a dtype without members and dimensions. Fails with UnsupportedFeature.
Result<Zarr3Scalar> zarr3_scalar(const NumpyType& numpy);

}  // namespace h5mount::view

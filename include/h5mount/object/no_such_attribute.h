// The error for a name that no attribute of an object has, neither in the file nor under user.hdf5.*.
#pragma once

#include "h5mount/base/error.h"

namespace h5mount::object {

inline Error no_such_attribute() {
  return {ErrorCode::NotFound, "no such attribute"};
}

}  // namespace h5mount::object

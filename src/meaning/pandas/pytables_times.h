// PyTables' Time64: seconds and microseconds in one number. Immutable; threads: any.
#pragma once

#include "../elements.h"

namespace h5mount::meaning {

// Makes doubles of them: seconds, with the rounding of PyTables.
ElementsPtr seconds_of_time64(bool big_endian);

}  // namespace h5mount::meaning

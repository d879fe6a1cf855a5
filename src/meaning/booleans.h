// Booleans, as text::is_boolean has them, and what makes them of bytes: true where they are not 0. Immutable;
// threads: any.
#pragma once

#include "h5mount/meaning/elements.h"

namespace h5mount::meaning {

format::DatatypePtr boolean_type();
ElementsPtr booleans_of_bytes();

}  // namespace h5mount::meaning

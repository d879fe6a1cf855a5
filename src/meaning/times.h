// Times as CF counts them: numbers of units since an epoch. Immutable; threads: any.
#pragma once

#include "h5mount/meaning/calendar.h"
#include "h5mount/meaning/packing.h"

namespace h5mount::meaning {

// Each makes times of the numbers that `packing` describes. A time that is missing, or that its form does not
// hold, is so.
//
// Little-endian microseconds since 1970-01-01, as NumPy and Parquet have them; missing: NumPy's NaT.
ElementsPtr timestamps_of(const Packing& packing, const TimeUnits& units);
// The type of such numbers: opaque, with a tag that tells what they are.
format::DatatypePtr timestamp_type(std::string_view tag);
// Texts of moment_bytes each; missing: NaT.
ElementsPtr moments_of(const Packing& packing, const TimeUnits& units);
// Whether texts have fractions of seconds, which follows from the types of numbers and units.
bool has_fractions(const Packing& packing, const TimeUnits& units);

}  // namespace h5mount::meaning

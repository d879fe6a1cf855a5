// Datatypes as bytes of a card. What is read back has all that format/datatype.h promises. Threads: one.
#pragma once

#include "card_bytes.h"
#include "h5mount/format/datatype.h"

namespace h5mount::join {

void write_type(const format::Datatype& type, CardWriter& to);
// Null, and a reader that is not `ok`, for bytes that are no sound type.
format::DatatypePtr read_type(CardReader& from);

}  // namespace h5mount::join

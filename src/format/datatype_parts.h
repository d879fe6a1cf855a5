// What the two sources of the datatype message share.
#pragma once

#include "h5mount/format/datatype.h"

namespace h5mount::datatype_parts {

// One decoding in progress: nesting and the number of types met so far are bounded.
struct Decoding {
  Cursor& cursor;
  FileSizes sizes;
  unsigned depth = 0;
  unsigned nodes = 0;
};

// A nested type; null where the cursor has failed.
DatatypePtr decode_nested(Decoding& decoding);

// The properties of the composite classes. `bits` is the class bit field.
void decode_compound(Decoding& decoding, std::uint32_t bits, Datatype& type);
void decode_enum(Decoding& decoding, std::uint32_t bits, Datatype& type);
void decode_variable_length(Decoding& decoding, std::uint32_t bits, Datatype& type);
void decode_array(Decoding& decoding, Datatype& type);
void decode_complex(Decoding& decoding, std::uint32_t bits, Datatype& type);

}  // namespace h5mount::datatype_parts

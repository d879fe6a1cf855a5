// Integers and floats of any stored format as decimal text.
#pragma once

#include <string>

#include "h5mount/format/datatype.h"

namespace h5mount::text {

// In full up to 65,536 bits; a wider number becomes a string of its bytes in hexadecimal. For Integer, Time
// (signed) and the base type of Enum.
void append_integer(const format::Datatype& type, ByteSpan element, std::string& out);

// The shortest decimal that reads back to the same value in the element's own format, always with '.' or an
// exponent, but whole numbers up to 2^53 in full; NaN, Infinity, -Infinity. As in libhdf5 an exponent of all
// ones is infinity or NaN in every format except VAX order, whose reserved operand (sign without exponent) is
// NaN. A number with more than about 100,000 binary digits becomes a string of its bytes in hexadecimal.
void append_float(const format::Datatype& type, ByteSpan element, std::string& out);

// The same as readers have it that know floats of 4 and 8 bytes only: the shortest decimal (whole numbers in
// full as above) that reads back to the value in the smaller of these that holds the format. Formats that
// neither holds are written as above.
void append_common_float(const format::Datatype& type, ByteSpan element, std::string& out);

// Steps (base/request_budget.h) that the text of one number takes in addition to those for its bytes: 0 for
// common formats.
std::uint64_t number_steps(const format::Datatype& type);

// "0x…", the stored bytes, in quotes.
void append_hex_string(ByteSpan bytes, std::string& out);

}  // namespace h5mount::text

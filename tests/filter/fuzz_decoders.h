// Fuzz entry points, one per decoder, by name. Names are the registry's for filters, and those of the codecs
// and containers that several filters share.
//
//   chunk bytes, u16 | number of client data, u8 | client data, u32 each | stored bytes
//
// All little-endian. Buffers end at an inaccessible page (guarded.h). The process aborts where decoding as a
// whole and by boxes disagree.
#pragma once

#include <string>
#include <vector>

#include "h5mount/base/bytes.h"

namespace h5mount::test {

std::vector<std::string> fuzz_decoders();  // available in this build
// Aborts on unknown names: otherwise a misspelt name would fuzz nothing unnoticed.
void fuzz_decoder(const std::string& name, ByteSpan input);

}  // namespace h5mount::test

// Every decoder under a name of its own, fed with bytes that nobody made sense of. Names are the registry's
// for filters, and those of the bare codecs and containers that stand in several of them.
//
//   chunk bytes, u16 | number of client data, u8 | client data, u32 each | stored bytes
//
// All little-endian. What a decoder may touch ends at a wall (guarded.h); decoding whole and by boxes must
// agree, or the process aborts.
#pragma once

#include <string>
#include <vector>

#include "h5mount/base/bytes.h"

namespace h5mount::test {

std::vector<std::string> fuzz_decoders();  // that this build has
// Unknown names abort, as a fuzzer that ran nothing would find nothing.
void fuzz_decoder(const std::string& name, ByteSpan input);

}  // namespace h5mount::test

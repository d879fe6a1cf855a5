// Private to the module: the checksum of the fletcher32 filter.
#pragma once

#include "h5mount/base/bytes.h"

namespace h5mount::filter {

// The checksum as libhdf5 stores it: sum2 << 16 | sum1.
[[nodiscard]] std::uint32_t fletcher32(ByteSpan bytes);
// The checksum by its definition, word by word, as a reference for tests.
[[nodiscard]] std::uint32_t fletcher32_plain(ByteSpan bytes);
// The variant with baseline vectors (SSE2); fletcher32 uses wider ones if the processor has them.
[[nodiscard]] std::uint32_t fletcher32_vectors(ByteSpan bytes);

}  // namespace h5mount::filter

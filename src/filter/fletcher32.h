// Private to the module: the checksum of the fletcher32 filter.
#pragma once

#include "h5mount/base/bytes.h"

namespace h5mount::filter {

// As libhdf5 stores it: sum2 << 16 | sum1.
[[nodiscard]] std::uint32_t fletcher32(ByteSpan bytes);
// The definition, word by word: the reference in tests.
[[nodiscard]] std::uint32_t fletcher32_plain(ByteSpan bytes);
// The variant with baseline vectors (SSE2); fletcher32 uses wider ones where the processor has them.
[[nodiscard]] std::uint32_t fletcher32_vectors(ByteSpan bytes);

}  // namespace h5mount::filter

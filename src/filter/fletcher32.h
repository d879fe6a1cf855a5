// Private to this room: the checksum of the fletcher32 filter.
#pragma once

#include "h5mount/base/bytes.h"

namespace h5mount::filter {

// As libhdf5 stores it: sum2 << 16 | sum1.
[[nodiscard]] std::uint32_t fletcher32(ByteSpan bytes);
// The definition, word by word; what fletcher32 is tested against.
[[nodiscard]] std::uint32_t fletcher32_plain(ByteSpan bytes);
// By the vectors that every processor has; fletcher32 takes wider ones where they are.
[[nodiscard]] std::uint32_t fletcher32_vectors(ByteSpan bytes);

}  // namespace h5mount::filter

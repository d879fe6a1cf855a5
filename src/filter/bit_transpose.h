// Private to the module: bit planes back to elements.
//
//   stored:  byte 0 bit 0 of every element | byte 0 bit 1 | … | byte size-1 bit 7, each of count/8 bytes,
//            element i being bit i % 8 (from the least significant) of byte i / 8
//   decoded: element 0 | element 1 | …
#pragma once

#include "h5mount/base/bytes.h"

namespace h5mount::filter {

// `count` is a multiple of 8; count * size bytes are read and written.
void untranspose_bits_plain(const std::byte* planes, std::size_t count, std::size_t size, std::byte* out);
// The fastest variant that the processor supports.
void untranspose_bits(const std::byte* planes, std::size_t count, std::size_t size, std::byte* out);
#if defined(__x86_64__)
// The variant for processors without AVX2.
void untranspose_bits_sse2(const std::byte* planes, std::size_t count, std::size_t size, std::byte* out);
#endif

}  // namespace h5mount::filter

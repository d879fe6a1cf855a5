// Private to the module: byte planes back to elements.
//
//   stored:  plane 0 (byte 0 of every element) | plane 1 | … | plane size-1
//   decoded: element 0 | element 1 | …
#pragma once

#include "h5mount/base/bytes.h"

namespace h5mount::filter {

// `planes`: the first of `size` planes of which each begins `plane_stride` bytes after the one before (at
// least `count`); writes count * size bytes to `out`, which must not overlap the input. A shifted `planes`
// and a `count` below the stride decode any run of elements alone.
using Unshuffle = void (*)(const std::byte* planes, std::size_t plane_stride, std::size_t count,
                           std::size_t size, std::byte* out);

void unshuffle_plain(const std::byte* planes, std::size_t plane_stride, std::size_t count, std::size_t size,
                     std::byte* out);
// The fastest variant that the processor supports.
void unshuffle(const std::byte* planes, std::size_t plane_stride, std::size_t count, std::size_t size,
               std::byte* out);

#if defined(__x86_64__)
void unshuffle_sse2(const std::byte* planes, std::size_t plane_stride, std::size_t count, std::size_t size,
                    std::byte* out);
#endif

// Decodes a whole buffer: planes, and after them the bytes that are left over, which are not shuffled. `in`
// and `out` are equal in size.
void unshuffle_buffer(ByteSpan in, std::size_t size, MutableByteSpan out);

}  // namespace h5mount::filter

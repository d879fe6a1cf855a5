#include "unshuffle.h"

#include <algorithm>

#include "simd_lanes.h"

namespace h5mount::filter {

void unshuffle_plain(const std::byte* planes, std::size_t plane_stride, std::size_t count, std::size_t size,
                     std::byte* out) {
  // Works in tiles, so that the cache lines of `out` stay in the L1 cache while all planes are read.
  const std::size_t tile = std::max<std::size_t>(8192 / std::max<std::size_t>(size, 1), 16);
  for (std::size_t first = 0; first < count; first += tile) {
    const std::size_t last = std::min(count, first + tile);
    for (std::size_t plane = 0; plane < size; ++plane) {
      const std::byte* from = planes + plane * plane_stride;
      for (std::size_t i = first; i < last; ++i) out[i * size + plane] = from[i];
    }
  }
}

#if defined(__x86_64__)
namespace {

using namespace lanes;

template <std::size_t Size>
void unshuffle_sse2_sized(const std::byte* planes, std::size_t plane_stride, std::size_t count,
                          std::byte* out) {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    __m128i v[Size];
    load(v, planes + i, plane_stride, std::make_index_sequence<Size>{});
    planes_to_elements<Size>(v);
    store(v, out + i * Size, 16, std::make_index_sequence<Size>{});
  }
  unshuffle_plain(planes + i, plane_stride, count - i, Size, out + i * Size);
}

// Joins groups of `Group` planes from `plane` on, of elements of any size: writes Group bytes every `size`
// bytes. Moves `plane` behind them.
template <std::size_t Group>
void unshuffle_groups(const std::byte* planes, std::size_t plane_stride, std::size_t count, std::size_t size,
                      std::byte* out, std::size_t& plane) {
  for (; size - plane >= Group; plane += Group) {
    const std::byte* const from = planes + plane * plane_stride;
    std::byte* const to = out + plane;
    std::size_t i = 0;
    for (; i + 16 <= count; i += 16) {
      __m128i v[Group];
      load(v, from + i, plane_stride, std::make_index_sequence<Group>{});
      planes_to_elements<Group>(v);
      if constexpr (Group == 16) {
        store(v, to + i * size, size, std::make_index_sequence<Group>{});
      } else {
        alignas(16) std::byte elements[16 * Group];
        store(v, elements, 16, std::make_index_sequence<Group>{});
        for (std::size_t e = 0; e < 16; ++e) std::memcpy(to + (i + e) * size, elements + e * Group, Group);
      }
    }
    for (; i < count; ++i)
      for (std::size_t byte = 0; byte < Group; ++byte) to[i * size + byte] = from[byte * plane_stride + i];
  }
}

// For sizes that are not a power of two, or large: joins groups of 16, 8, 4, 2 planes, tile by tile.
void unshuffle_sse2_any(const std::byte* planes, std::size_t plane_stride, std::size_t count,
                        std::size_t size, std::byte* out) {
  const std::size_t tile = std::max<std::size_t>(16'384 / size / 16 * 16, 16);
  for (std::size_t first = 0; first < count; first += tile) {
    const std::size_t here = std::min(tile, count - first);
    const std::byte* from = planes + first;
    std::byte* to = out + first * size;
    std::size_t plane = 0;
    unshuffle_groups<16>(from, plane_stride, here, size, to, plane);
    unshuffle_groups<8>(from, plane_stride, here, size, to, plane);
    unshuffle_groups<4>(from, plane_stride, here, size, to, plane);
    unshuffle_groups<2>(from, plane_stride, here, size, to, plane);
    for (; plane < size; ++plane)
      for (std::size_t i = 0; i < here; ++i) to[i * size + plane] = from[plane * plane_stride + i];
  }
}

template <std::size_t Size>
H5_AVX2 void unshuffle_avx2_sized(const std::byte* planes, std::size_t plane_stride, std::size_t count,
                                  std::byte* out) {
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m256i v[Size];
    load(v, planes + i, plane_stride, std::make_index_sequence<Size>{});
    planes_to_elements<Size>(v);
    store_groups(v, out + i * Size, out + (i + 16) * Size, std::make_index_sequence<Size / 2>{});
  }
  unshuffle_sse2_sized<Size>(planes + i, plane_stride, count - i, out + i * Size);
}

void unshuffle_avx2(const std::byte* planes, std::size_t plane_stride, std::size_t count, std::size_t size,
                    std::byte* out) {
  switch (size) {
    case 2:
      return unshuffle_avx2_sized<2>(planes, plane_stride, count, out);
    case 4:
      return unshuffle_avx2_sized<4>(planes, plane_stride, count, out);
    case 8:
      return unshuffle_avx2_sized<8>(planes, plane_stride, count, out);
    case 16:
      return unshuffle_avx2_sized<16>(planes, plane_stride, count, out);
    default:
      return unshuffle_sse2(planes, plane_stride, count, size, out);
  }
}

}  // namespace

void unshuffle_sse2(const std::byte* planes, std::size_t plane_stride, std::size_t count, std::size_t size,
                    std::byte* out) {
  switch (size) {
    case 0:
      return;
    case 1:
      if (count != 0) std::memcpy(out, planes, count);
      return;
    case 2:
      return unshuffle_sse2_sized<2>(planes, plane_stride, count, out);
    case 4:
      return unshuffle_sse2_sized<4>(planes, plane_stride, count, out);
    case 8:
      return unshuffle_sse2_sized<8>(planes, plane_stride, count, out);
    case 16:
      return unshuffle_sse2_sized<16>(planes, plane_stride, count, out);
    default:
      return unshuffle_sse2_any(planes, plane_stride, count, size, out);
  }
}
#endif

void unshuffle(const std::byte* planes, std::size_t plane_stride, std::size_t count, std::size_t size,
               std::byte* out) {
#if defined(__x86_64__)
  static const Unshuffle kBest = __builtin_cpu_supports("avx2") ? unshuffle_avx2 : unshuffle_sse2;
  kBest(planes, plane_stride, count, size, out);
#else
  unshuffle_plain(planes, plane_stride, count, size, out);
#endif
}

void unshuffle_buffer(ByteSpan in, std::size_t size, MutableByteSpan out) {
  if (in.empty()) return;
  const std::size_t count = size > 1 ? in.size() / size : 0;
  if (count != 0) unshuffle(in.data(), count, count, size, out.data());
  const std::size_t done = count * size;
  if (done < in.size()) std::memcpy(out.data() + done, in.data() + done, in.size() - done);
}

}  // namespace h5mount::filter

#include "bit_transpose.h"

#include <algorithm>

#include "simd_lanes.h"
#include "unshuffle.h"

namespace h5mount::filter {
namespace {

// Transposes 8 x 8 bit matrices, of which row r is byte r: one, or one in each lane of a vector. Three rounds
// swap squares of 1, 2 and 4 bits.
template <class X>
[[gnu::always_inline]] inline void transpose_8x8(X& x) {
  X swap = (x ^ x >> 7) & 0x00AA00AA00AA00AAULL;
  x ^= swap ^ swap << 7;
  swap = (x ^ x >> 14) & 0x0000CCCC0000CCCCULL;
  x ^= swap ^ swap << 14;
  swap = (x ^ x >> 28) & 0x00000000F0F0F0F0ULL;
  x ^= swap ^ swap << 28;
}

// Joins the eight bit planes of one byte position, `groups` bytes each, into that byte of 8 * groups
// elements.
void join_plain(const std::byte* planes, std::size_t plane_bytes, std::size_t groups, std::byte* out) {
  for (std::size_t group = 0; group < groups; ++group) {
    std::uint64_t rows = 0;
    for (std::size_t bit = 0; bit < 8; ++bit) {
      rows |= std::to_integer<std::uint64_t>(planes[bit * plane_bytes + group]) << (8 * bit);
    }
    transpose_8x8(rows);
    std::memcpy(out + 8 * group, &rows, 8);
  }
}

using Join = void (*)(const std::byte* planes, std::size_t plane_bytes, std::size_t groups, std::byte* out);

#if defined(__x86_64__)
using namespace lanes;

using Rows128 [[gnu::vector_size(16), gnu::may_alias]] = std::uint64_t;
using Rows256 [[gnu::vector_size(32), gnu::may_alias]] = std::uint64_t;

void join_sse2(const std::byte* planes, std::size_t plane_bytes, std::size_t groups, std::byte* out) {
  constexpr auto kEight = std::make_index_sequence<8>{};
  std::size_t group = 0;
  for (; group + 16 <= groups; group += 16) {
    __m128i v[8];
    load(v, planes + group, plane_bytes, kEight);
    planes_to_elements<8>(v);
    for (__m128i& rows : v) transpose_8x8(reinterpret_cast<Rows128&>(rows));
    store(v, out + 8 * group, 16, kEight);
  }
  join_plain(planes + group, plane_bytes, groups - group, out + 8 * group);
}

H5_AVX2 void join_avx2(const std::byte* planes, std::size_t plane_bytes, std::size_t groups, std::byte* out) {
  std::size_t group = 0;
  for (; group + 32 <= groups; group += 32) {
    __m256i v[8];
    load(v, planes + group, plane_bytes, std::make_index_sequence<8>{});
    planes_to_elements<8>(v);
    for (__m256i& rows : v) transpose_8x8(reinterpret_cast<Rows256&>(rows));
    store_groups(v, out + 8 * group, out + 8 * group + 128, std::make_index_sequence<4>{});
  }
  join_sse2(planes + group, plane_bytes, groups - group, out + 8 * group);
}

Join best_join() {
  return __builtin_cpu_supports("avx2") ? join_avx2 : join_sse2;
}
#else
Join best_join() {
  return join_plain;
}
#endif

constexpr std::size_t kTileBytes = 16'384;  // a tile's byte planes fit the L1 cache

// Works tile by tile: joins bit planes into byte planes, then byte planes into elements.
void untranspose(const std::byte* planes, std::size_t count, std::size_t size, std::byte* out, Join join,
                 Unshuffle spread) {
  const std::size_t plane_bytes = count / 8;
  if (size == 1) return join(planes, plane_bytes, plane_bytes, out);
  alignas(64) std::byte tile[kTileBytes];
  // Elements that are too large for a tile are joined some bytes at a time, directly into the output.
  if (size > kTileBytes / 64) {
    for (std::size_t byte = 0; byte < size; ++byte) {
      for (std::size_t first = 0; first < count; first += kTileBytes) {
        const std::size_t here = std::min(kTileBytes, count - first);
        join(planes + byte * count + first / 8, plane_bytes, here / 8, tile);
        for (std::size_t i = 0; i < here; ++i) out[(first + i) * size + byte] = tile[i];
      }
    }
    return;
  }
  const std::size_t step = kTileBytes / size / 8 * 8;
  const std::size_t aligned_step = step >= 256 ? step / 256 * 256 : step;
  for (std::size_t first = 0; first < count; first += aligned_step) {
    const std::size_t here = std::min(aligned_step, count - first);
    for (std::size_t byte = 0; byte < size; ++byte) {
      join(planes + byte * count + first / 8, plane_bytes, here / 8, tile + byte * here);
    }
    spread(tile, here, here, size, out + first * size);
  }
}

}  // namespace

void untranspose_bits_plain(const std::byte* planes, std::size_t count, std::size_t size, std::byte* out) {
  untranspose(planes, count, size, out, join_plain, unshuffle_plain);
}

#if defined(__x86_64__)
void untranspose_bits_sse2(const std::byte* planes, std::size_t count, std::size_t size, std::byte* out) {
  untranspose(planes, count, size, out, join_sse2, unshuffle_sse2);
}
#endif

void untranspose_bits(const std::byte* planes, std::size_t count, std::size_t size, std::byte* out) {
  static const Join kJoin = best_join();
  untranspose(planes, count, size, out, kJoin, unshuffle);
}

}  // namespace h5mount::filter

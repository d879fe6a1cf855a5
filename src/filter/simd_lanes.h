// Private to the module: the byte transposition that unshuffle and bit_transpose share.
//
// One riffle is a perfect shuffle of all registers: bytes of the first half and of the second half alternate,
// which rotates the bits of every byte's index by one. Applied log2(Size) times to Size registers, each with
// 16 bytes of one plane, it yields 16 elements of Size bytes. With 256-bit registers each 128-bit half is
// shuffled separately: two groups of 16 elements.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstring>
#include <utility>

#define H5_AVX2 __attribute__((target("avx2")))

namespace h5mount::filter::lanes {

template <std::size_t... I>
inline void riffle(__m128i* v, std::index_sequence<I...>) {
  constexpr std::size_t kHalf = sizeof...(I);
  __m128i mixed[2 * kHalf];
  ((mixed[2 * I] = _mm_unpacklo_epi8(v[I], v[I + kHalf]),
    mixed[2 * I + 1] = _mm_unpackhi_epi8(v[I], v[I + kHalf])),
   ...);
  ((v[2 * I] = mixed[2 * I], v[2 * I + 1] = mixed[2 * I + 1]), ...);
}

template <std::size_t... I>
H5_AVX2 inline void riffle(__m256i* v, std::index_sequence<I...>) {
  constexpr std::size_t kHalf = sizeof...(I);
  __m256i mixed[2 * kHalf];
  ((mixed[2 * I] = _mm256_unpacklo_epi8(v[I], v[I + kHalf]),
    mixed[2 * I + 1] = _mm256_unpackhi_epi8(v[I], v[I + kHalf])),
   ...);
  ((v[2 * I] = mixed[2 * I], v[2 * I + 1] = mixed[2 * I + 1]), ...);
}

template <std::size_t Size>
inline void planes_to_elements(__m128i* v) {
  riffle(v, std::make_index_sequence<Size / 2>{});
  if constexpr (Size >= 4) riffle(v, std::make_index_sequence<Size / 2>{});
  if constexpr (Size >= 8) riffle(v, std::make_index_sequence<Size / 2>{});
  if constexpr (Size >= 16) riffle(v, std::make_index_sequence<Size / 2>{});
}

template <std::size_t Size>
H5_AVX2 inline void planes_to_elements(__m256i* v) {
  riffle(v, std::make_index_sequence<Size / 2>{});
  if constexpr (Size >= 4) riffle(v, std::make_index_sequence<Size / 2>{});
  if constexpr (Size >= 8) riffle(v, std::make_index_sequence<Size / 2>{});
  if constexpr (Size >= 16) riffle(v, std::make_index_sequence<Size / 2>{});
}

template <class Register, std::size_t... I>
[[gnu::always_inline]] inline void load(Register* v, const std::byte* from, std::size_t stride,
                                        std::index_sequence<I...>) {
  (std::memcpy(&v[I], from + I * stride, sizeof(Register)), ...);
}

template <std::size_t... I>
inline void store(const __m128i* v, std::byte* to, std::size_t stride, std::index_sequence<I...>) {
  (_mm_storeu_si128(reinterpret_cast<__m128i*>(to + I * stride), v[I]), ...);
}

// Registers 2I and 2I + 1 hold bytes [32I, 32I + 32) of both groups; their halves are separated by group when
// stored.
template <std::size_t... I>
H5_AVX2 inline void store_groups(const __m256i* v, std::byte* first, std::byte* second,
                                 std::index_sequence<I...>) {
  ((_mm256_storeu_si256(reinterpret_cast<__m256i*>(first + 32 * I),
                        _mm256_permute2x128_si256(v[2 * I], v[2 * I + 1], 0x20)),
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(second + 32 * I),
                        _mm256_permute2x128_si256(v[2 * I], v[2 * I + 1], 0x31))),
   ...);
}

}  // namespace h5mount::filter::lanes
#endif

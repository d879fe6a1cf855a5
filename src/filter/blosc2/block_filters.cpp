#include "block_filters.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <utility>
#include <vector>

#include "../bit_transpose.h"
#include "../filters.h"
#include "../unshuffle.h"
#include "h5mount/base/checked.h"

namespace h5mount::filter::blosc {
namespace {

std::size_t shuffled_size(const ChunkHeader& header, FilterSlot slot) {
  return slot.meta == 0 ? header.typesize : slot.meta;
}

// Blosc 2 transposes the elements that fill whole bytes (a multiple of 8); Blosc 1 transposes all or none.
void undo_bitshuffle(const ChunkHeader& header, ByteSpan in, MutableByteSpan out) {
  std::size_t count = in.size() / header.typesize;
  if (count % 8 != 0) count = header.is_blosc1() ? 0 : count / 8 * 8;
  if (count != 0) untranspose_bits(in.data(), count, header.typesize, out.data());
  const std::size_t done = count * header.typesize;
  if (done < in.size()) std::memcpy(out.data() + done, in.data() + done, in.size() - done);
}

// Prefix scan in place: every word becomes the combination by `Step` of itself and all words before it.
// `Step::words` combines two words, `Step::lanes` two registers of words.
#if defined(__x86_64__)
// Prefix scan of one register: each word is combined with the word 1, 2, 4 and 8 positions before it.
template <class Word, class Step, std::size_t Bytes = sizeof(Word)>
__m128i scan(__m128i x) {
  x = Step::lanes(x, _mm_slli_si128(x, Bytes));
  if constexpr (Bytes < 8) return scan<Word, Step, 2 * Bytes>(x);
  return x;
}

template <class Word>
__m128i repeated(Word word) {
  if constexpr (sizeof(Word) == 1) return _mm_set1_epi8(static_cast<char>(word));
  if constexpr (sizeof(Word) == 2) return _mm_set1_epi16(static_cast<short>(word));
  if constexpr (sizeof(Word) == 4) return _mm_set1_epi32(static_cast<int>(word));
  return _mm_set1_epi64x(static_cast<long long>(word));
}
#endif

template <class Word, class Step>
void run_through(std::byte* at, std::size_t count) {
  Word last = 0;
#if defined(__x86_64__)
  for (; count * sizeof(Word) >= 16; at += 16, count -= 16 / sizeof(Word)) {
    auto* const place = reinterpret_cast<__m128i*>(at);
    _mm_storeu_si128(place, Step::lanes(scan<Word, Step>(_mm_loadu_si128(place)), repeated(last)));
    last = load_le<Word>(at + 16 - sizeof(Word));
  }
#endif
  for (; count > 0; --count, at += sizeof(Word)) {
    last = Step::words(last, load_le<Word>(at));
    std::memcpy(at, &last, sizeof(Word));
  }
}

struct Xor {
  template <class Word>
  static Word words(Word a, Word b) {
    return static_cast<Word>(a ^ b);
  }
#if defined(__x86_64__)
  static __m128i lanes(__m128i a, __m128i b) { return _mm_xor_si128(a, b); }
#endif
};

struct AddBytes {
  static std::uint8_t words(std::uint8_t a, std::uint8_t b) { return static_cast<std::uint8_t>(a + b); }
#if defined(__x86_64__)
  static __m128i lanes(__m128i a, __m128i b) { return _mm_add_epi8(a, b); }
#endif
};

// Undoes delta: each word was exclusive-ored with the word before it (first block), or with the word at the
// same position of the first block.
template <class Word>
void undo_delta_words(ByteSpan reference, MutableByteSpan block) {
  const std::size_t count = block.size() / sizeof(Word);
  if (reference.empty()) return run_through<Word, Xor>(block.data(), count);
  // The word size matters only for the tail, which holds no whole word and is unchanged.
  const std::size_t bytes = count * sizeof(Word);
  std::byte* to = block.data();
  const std::byte* with = reference.data();
  for (std::size_t i = 0; i < bytes; ++i) to[i] ^= with[i];
}

void sum_bytes(MutableByteSpan bytes) {
  run_through<std::uint8_t, AddBytes>(bytes.data(), bytes.size());
}

}  // namespace

void undo_delta(std::size_t typesize, ByteSpan reference, MutableByteSpan block) {
  if (typesize == 1) return undo_delta_words<std::uint8_t>(reference, block);
  if (typesize == 2) return undo_delta_words<std::uint16_t>(reference, block);
  if (typesize == 4) return undo_delta_words<std::uint32_t>(reference, block);
  if (typesize % 8 == 0) return undo_delta_words<std::uint64_t>(reference, block);
  undo_delta_words<std::uint8_t>(reference, block);
}

void undo_byte_delta(std::size_t planes, MutableByteSpan block) {
  const std::size_t length = block.size() / planes;
  for (std::size_t plane = 0; plane < planes; ++plane) sum_bytes(block.subspan(plane * length, length));
}

// Undoes byte delta as early versions wrote it: their vector code restarted the sum at the last bytes of a
// plane, which do not fill a vector.
void undo_old_byte_delta(std::size_t planes, MutableByteSpan block) {
  const std::size_t length = block.size() / planes;
  const std::size_t rest = length % 16;
  for (std::size_t plane = 0; plane < planes; ++plane) {
    sum_bytes(block.subspan(plane * length, length - rest));
    sum_bytes(block.subspan(plane * length + length - rest, rest));
  }
}

// Restores row-major order from cells of `cell` elements along each dimension, clipped at the block's edges.
// Cells are stored in row-major order, and so are the elements of each cell.
Status undo_cells(Extents shape, std::size_t cell, ByteSpan in, MutableByteSpan out) {
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : shape) {
    if (extent == 0 || elements > out.size() / extent) return failed("blosc2", "cells of no array");
    elements *= extent;
  }
  if (shape.empty() || cell == 0 || out.size() % elements != 0) return failed("blosc2", "cells of no array");
  const auto item = static_cast<std::size_t>(out.size() / elements);
  const std::size_t rank = shape.size();
  std::vector<std::uint64_t> at(rank), first(rank), grid(rank), origin(rank), extent(rank);
  for (std::size_t d = 0; d < rank; ++d) grid[d] = divide_up(shape[d], cell);
  const std::byte* from = in.data();
  do {
    std::uint64_t bytes = item;
    for (std::size_t d = 0; d < rank; ++d) {
      origin[d] = at[d] * cell;
      extent[d] = std::min<std::uint64_t>(cell, shape[d] - origin[d]);
      bytes *= extent[d];
    }
    copy_box(from, {extent, first}, out.data(), {shape, origin}, extent, item);
    from += bytes;
  } while (step_box(at, first, grid));
  return {};
}

bool moves(const ChunkHeader& header, FilterSlot slot) {
  return slot.id == kBitshuffle || slot.id == kCells || slot.id == kMeans ||
         (slot.id == kShuffle && shuffled_size(header, slot) > 1);
}

Status undo_filters(const ChunkHeader& header, Extents shape, ByteSpan reference, MutableByteSpan out,
                    MutableByteSpan other) {
  bool in_out = true;
  for (const FilterSlot slot : header.filters) in_out ^= moves(header, slot);
  MutableByteSpan from = in_out ? out : other;
  MutableByteSpan to = in_out ? other : out;
  for (std::size_t i = header.filters.size(); i-- > 0;) {
    const FilterSlot slot = header.filters[i];
    switch (slot.id) {
      case 0:
      case kTruncatePrecision:
      case kIntegerTruncation:
        break;  // the truncated bits are not recoverable
      case kShuffle:
        if (moves(header, slot)) unshuffle_buffer(from, shuffled_size(header, slot), to);
        break;
      case kBitshuffle:
        undo_bitshuffle(header, from, to);
        break;
      case kDelta:
        undo_delta(header.typesize, reference, from);
        break;
      case kMeans:
        // With such shapes the writer places cells at positions that no reader can determine.
        if (shape.size() > 1 && shape[0] < slot.meta) {
          return fail(Error(ErrorCode::UnsupportedFeature,
                            "blosc2: filter 33 (ndmean) with cells larger than the block"));
        }
        [[fallthrough]];
      case kCells:
        H5_TRY(undo_cells(shape, slot.meta, from, to));
        break;
      case kByteDeltaOld:
        undo_old_byte_delta(shuffled_size(header, slot), from);
        break;
      case kByteDelta:
        undo_byte_delta(shuffled_size(header, slot), from);
        break;
      default:
        return fail(Error(ErrorCode::UnsupportedFeature,
                          "blosc2: filter " + std::to_string(slot.id) + " inside the chunk is not known"));
    }
    if (moves(header, slot)) std::swap(from, to);
  }
  return {};
}

}  // namespace h5mount::filter::blosc

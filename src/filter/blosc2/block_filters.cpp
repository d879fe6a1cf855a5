#include "block_filters.h"

#include <utility>

#include "../bit_transpose.h"
#include "../filters.h"
#include "../unshuffle.h"

namespace h5mount::filter::blosc {
namespace {

std::size_t shuffled_size(const ChunkHeader& header, FilterSlot slot) {
  return slot.meta == 0 ? header.typesize : slot.meta;
}

// Blosc 2 transposes as many elements as make whole bytes; Blosc 1 all or none.
void undo_bitshuffle(const ChunkHeader& header, ByteSpan in, MutableByteSpan out) {
  std::size_t count = in.size() / header.typesize;
  if (count % 8 != 0) count = header.is_blosc1() ? 0 : count / 8 * 8;
  if (count != 0) untranspose_bits(in.data(), count, header.typesize, out.data());
  const std::size_t done = count * header.typesize;
  if (done < in.size()) std::memcpy(out.data() + done, in.data() + done, in.size() - done);
}

// Each word was exclusive-ored with the one before it (first block) or with its like in the first block.
template <class Word>
void undo_delta_words(ByteSpan reference, MutableByteSpan block) {
  const std::size_t count = block.size() / sizeof(Word);
  if (reference.empty()) {
    Word last = 0;
    for (std::size_t i = 0; i < count; ++i) {
      last = static_cast<Word>(last ^ load_le<Word>(block.data() + i * sizeof(Word)));
      std::memcpy(block.data() + i * sizeof(Word), &last, sizeof(Word));
    }
    return;
  }
  // Words do not matter here, but for the tail that no word covers.
  const std::size_t bytes = count * sizeof(Word);
  std::byte* to = block.data();
  const std::byte* with = reference.data();
  for (std::size_t i = 0; i < bytes; ++i) to[i] ^= with[i];
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
  for (std::size_t plane = 0; plane < planes; ++plane) {
    unsigned sum = 0;
    for (std::byte& byte : block.subspan(plane * length, length)) {
      sum += std::to_integer<unsigned>(byte);
      byte = static_cast<std::byte>(sum & 255U);
    }
  }
}

bool moves(const ChunkHeader& header, FilterSlot slot) {
  return slot.id == kBitshuffle || (slot.id == kShuffle && shuffled_size(header, slot) > 1);
}

Status undo_filters(const ChunkHeader& header, ByteSpan reference, MutableByteSpan out,
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
      case kIntegerTruncation: break;  // what they cut off is gone
      case kShuffle:
        if (moves(header, slot)) unshuffle_buffer(from, shuffled_size(header, slot), to);
        break;
      case kBitshuffle: undo_bitshuffle(header, from, to); break;
      case kDelta: undo_delta(header.typesize, reference, from); break;
      case kByteDelta: undo_byte_delta(shuffled_size(header, slot), from); break;
      default:
        return fail(Error(ErrorCode::UnsupportedFeature,
                          "blosc2: filter " + std::to_string(slot.id) + " inside the chunk is not known"));
    }
    if (moves(header, slot)) std::swap(from, to);
  }
  return {};
}

}  // namespace h5mount::filter::blosc

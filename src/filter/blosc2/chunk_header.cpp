#include "chunk_header.h"

#include <algorithm>

#include "../filters.h"

namespace h5mount::filter::blosc {
namespace {

constexpr std::size_t kShortHeader = 16;
constexpr std::size_t kLongHeader = 32;

enum Flag : std::uint8_t {
  kFlagShuffle = 1,
  kFlagStored = 2,
  kFlagBitshuffle = 4,
  kFlagDelta = 8,
  kFlagNoSplit = 16
};
enum Flag2 : std::uint8_t { kFlagDictionary = 1, kFlagLazy = 8, kFlagInstrumented = 128 };

std::uint8_t byte_at(ByteSpan bytes, std::size_t at) {
  return std::to_integer<std::uint8_t>(bytes[at]);
}

Result<std::size_t> size_at(ByteSpan bytes, std::size_t at) {
  const auto value = load_le<std::int32_t>(bytes.data() + at);
  if (value < 0) return failed("blosc", "a negative size in the chunk header");
  return static_cast<std::size_t>(value);
}

void filters_of_flags(std::uint8_t flags, ChunkHeader& header) {
  // The writer applies delta before the shuffle.
  if ((flags & kFlagDelta) != 0 && !header.is_blosc1()) header.filters[4].id = kDelta;
  if ((flags & kFlagShuffle) != 0) header.filters[5].id = kShuffle;
  if ((flags & kFlagBitshuffle) != 0) header.filters[5].id = kBitshuffle;
}

Status decode_extension(ByteSpan bytes, ChunkHeader& header) {
  if (bytes.size() < kLongHeader || header.cbytes < kLongHeader)
    return failed("blosc2", "the chunk header is cut short");
  header.header_bytes = kLongHeader;
  for (std::size_t i = 0; i < header.filters.size(); ++i) {
    header.filters[i] = {byte_at(bytes, 16 + i), byte_at(bytes, 24 + i)};
  }
  header.codec_id = byte_at(bytes, 22);
  header.codec_meta = byte_at(bytes, 23);
  const std::uint8_t flags2b = byte_at(bytes, 30);
  const std::uint8_t flags2 = byte_at(bytes, 31);
  if (header.version > 5 || (flags2b & 1) != 0) {
    return fail(Error(ErrorCode::UnsupportedFeature, "blosc2: chunks with blocks of variable length"));
  }
  if ((flags2 & (kFlagLazy | kFlagInstrumented)) != 0) {
    return fail(
        Error(ErrorCode::UnsupportedFeature, "blosc2: lazy and instrumented chunks are never stored"));
  }
  header.dictionary = (flags2 & kFlagDictionary) != 0;
  const unsigned special = flags2 >> 4 & 7U;
  if (special > 4) return failed("blosc2", "a special value that is not known");
  header.special = static_cast<Special>(special);
  return {};
}

}  // namespace

bool ChunkHeader::uses_delta() const {
  return std::ranges::any_of(filters, [](FilterSlot slot) { return slot.id == kDelta; });
}

Result<ChunkHeader> decode_chunk_header(ByteSpan bytes) {
  if (bytes.size() < kShortHeader) return failed("blosc", "the chunk header is cut short");
  ChunkHeader header;
  header.version = byte_at(bytes, 0);
  if (header.version == 0 || header.version > 6)
    return failed("blosc", "not a Blosc chunk, or of a later version");
  const std::uint8_t flags = byte_at(bytes, 2);
  header.typesize = byte_at(bytes, 3);
  H5_ASSIGN(header.nbytes, size_at(bytes, 4));
  H5_ASSIGN(header.blocksize, size_at(bytes, 8));
  H5_ASSIGN(header.cbytes, size_at(bytes, 12));
  header.stored = (flags & kFlagStored) != 0;
  header.may_split = (flags & kFlagNoSplit) == 0;
  header.codec_format = flags >> 5;
  if (header.cbytes < kShortHeader || header.cbytes > bytes.size()) {
    return failed("blosc", "the chunk is longer than what is stored");
  }
  const std::uint8_t both = kFlagShuffle | kFlagBitshuffle;
  if ((flags & both) == both && !header.is_blosc1()) {
    H5_TRY(decode_extension(bytes, header));
  } else {
    filters_of_flags(flags, header);
  }
  if (header.typesize == 0) return failed("blosc", "a type size of 0");
  const bool blocks = !header.stored && header.special == Special::None && header.nbytes != 0;
  if (blocks && header.blocksize == 0) return failed("blosc", "a block size of 0");
  return header;
}

}  // namespace h5mount::filter::blosc

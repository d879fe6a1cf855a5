// The header of a Blosc chunk, of Blosc 1 and Blosc 2.
//
//    0  version, u8          1, 2: Blosc 1; 3 to 5: Blosc 2; 6: Blosc 2 with blocks of variable length
//    1  codec's version, u8
//    2  flags, u8          1 byte shuffle | 2 stored | 4 bit shuffle | 8 delta | 16 do not split | 224 codec
//    3  typesize, u8
//    4  nbytes, i32          decoded
//    8  blocksize, i32       decoded bytes of a block; the last may be short
//   12  cbytes, i32          of the chunk, this header included
//   16  … if flags 1 and 4 are both set, which Blosc 1 never does:
//       6 filter ids, codec id, codec meta, 6 filter metas, flags2b,
//       flags2 (1 dictionary | 8 lazy | 112 special)
//
// Little-endian throughout.
#pragma once

#include <array>

#include "h5mount/base/bytes.h"
#include "h5mount/base/error.h"

namespace h5mount::filter::blosc {

// A chunk whose content is defined without blocks.
enum class Special : std::uint8_t { None = 0, Zeros = 1, NaN = 2, Value = 3, Uninitialised = 4 };

struct FilterSlot {
  std::uint8_t id = 0;  // 0: none
  std::uint8_t meta = 0;
};

inline constexpr std::uint8_t kShuffle = 1;
inline constexpr std::uint8_t kBitshuffle = 2;
inline constexpr std::uint8_t kDelta = 3;
inline constexpr std::uint8_t kTruncatePrecision = 4;
inline constexpr std::uint8_t kCells =
    32;  // "ndcell": reorders the elements of an n-dimensional block by cells
inline constexpr std::uint8_t kMeans = 33;  // "ndmean": the same, each element replaced by its cell's mean
inline constexpr std::uint8_t kByteDeltaOld = 34;
inline constexpr std::uint8_t kByteDelta = 35;
inline constexpr std::uint8_t kIntegerTruncation = 36;

struct ChunkHeader {
  std::uint8_t version = 0;
  std::size_t header_bytes = 16;  // or 32
  std::size_t typesize = 1;       // bytes; 1 if it is above 255
  std::size_t nbytes = 0;
  std::size_t blocksize = 0;
  std::size_t cbytes = 0;
  bool stored = false;
  bool may_split = false;
  bool dictionary = false;
  Special special = Special::None;
  std::uint8_t codec_format = 0;  // 0 BloscLZ, 1 LZ4, 2 Snappy, 3 zlib, 4 Zstandard, 6: see codec_id
  std::uint8_t codec_id = 0;
  std::uint8_t codec_meta = 0;
  std::array<FilterSlot, 6> filters{};  // in the order of writing

  bool is_blosc1() const { return version <= 2; }
  bool uses_delta() const;
};

// `bytes` begin with the chunk and may extend beyond it. Guarantees: cbytes lie within `bytes`; blocksize is
// not 0 if there are blocks.
Result<ChunkHeader> decode_chunk_header(ByteSpan bytes);

}  // namespace h5mount::filter::blosc

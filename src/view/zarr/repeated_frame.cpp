#include "repeated_frame.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "h5mount/base/checked.h"
#include "h5mount/base/deflate.h"
#include "h5mount/view/view.h"

namespace h5mount::view {

namespace {

// Bytes that are one pattern, repeated and cut at the end.
struct Run {
  ByteSpan pattern;
  std::uint64_t bytes;

  std::byte at(std::uint64_t offset) const {
    return pattern[static_cast<std::size_t>(offset % pattern.size())];
  }
  void append(std::uint64_t from, std::uint64_t length, std::string& out) const {
    for (std::uint64_t i = from; i < from + length; ++i) out += static_cast<char>(at(i));
  }
};

std::vector<Run> runs_of(const StoredCodec& codec, const ByteSpan& element, std::uint64_t count) {
  if (codec.shuffle <= 1) return {{element, element.size() * count}};
  std::vector<Run> out;
  for (std::size_t i = 0; i < element.size(); ++i) out.push_back({element.subspan(i, 1), count});
  return out;
}

std::string plain(std::span<const Run> runs) {
  std::string out;
  for (const Run& run : runs) run.append(0, run.bytes, out);
  return out;
}

// ---- Zstandard (RFC 8878)

constexpr std::uint64_t kZstdLargestBlock = 128U << 10;  // 3.1.1.2.4

// A code of a literal or match length (3.1.1.3.2.1.1): the least length that it stands for, and the bits that
// are added.
struct LengthCode {
  std::uint32_t least, bits;
};
constexpr std::array<LengthCode, 20> kLiteralCodes = {
    {{16, 1},    {18, 1},    {20, 1},    {22, 1},     {24, 2},     {28, 2},    {32, 3},
     {40, 3},    {48, 4},    {64, 6},    {128, 7},    {256, 8},    {512, 9},   {1024, 10},
     {2048, 11}, {4096, 12}, {8192, 13}, {16384, 14}, {32768, 15}, {65536, 16}}};
constexpr std::array<LengthCode, 21> kMatchCodes = {
    {{35, 1},    {37, 1},    {39, 1},    {41, 1},    {43, 2},     {47, 2},     {51, 3},
     {59, 3},    {67, 4},    {83, 4},    {99, 5},    {131, 7},    {259, 8},    {515, 9},
     {1027, 10}, {2051, 11}, {4099, 12}, {8195, 13}, {16387, 14}, {32771, 15}, {65539, 16}}};

// Bits in the order of a bitstream that is read from its end (4.1).
struct Bits {
  std::uint64_t value = 0;
  unsigned count = 0;
  void add(std::uint64_t bits, unsigned width) {
    value |= bits << count;
    count += width;
  }
};

// Appends the code of a length and adds its bits. Lengths below `direct` are codes themselves, counted from
// `least` on.
void append_length(std::span<const LengthCode> codes, std::uint64_t direct, std::uint64_t least,
                   std::uint64_t length, std::string& out, Bits& bits) {
  if (length < direct) {
    out += static_cast<char>(length - least);
    return;
  }
  std::size_t i = codes.size() - 1;
  while (codes[i].least > length) --i;
  out += static_cast<char>(direct - least + i);
  bits.add(length - codes[i].least, codes[i].bits);
}

void append_block_header(std::uint64_t size, unsigned type, bool last, std::string& out) {
  append_le(size << 3 | type << 1 | (last ? 1U : 0U), 3, out);
}

// A block of one sequence: `literals`, then what repeats the bytes `distance` before.
void append_match_block(const std::string& literals, std::uint64_t distance, std::uint64_t match, bool last,
                        std::string& out) {
  std::string block;
  const std::uint64_t size = literals.size();
  if (size < 32)
    append_le(size << 3, 1, block);
  else if (size < 4096)
    append_le(size << 4 | 1U << 2, 2, block);
  else
    append_le(size << 4 | 3U << 2, 3, block);
  block += literals;
  block += "\x01\x54";  // one sequence, each of whose codes is given as the only one of its table
  Bits literal_bits, match_bits, bits;
  append_length(kLiteralCodes, 16, 0, size, block, literal_bits);
  const std::uint64_t offset = distance + 3;
  const auto offset_code = static_cast<unsigned>(std::bit_width(offset) - 1);
  block += static_cast<char>(offset_code);
  append_length(kMatchCodes, 35, 3, match, block, match_bits);
  bits.add(literal_bits.value, literal_bits.count);
  bits.add(match_bits.value, match_bits.count);
  bits.add(offset - (std::uint64_t{1} << offset_code), offset_code);
  bits.add(1, 1);
  append_le(bits.value, divide_up(bits.count, 8U), block);
  append_block_header(block.size(), 2, last, out);
  out += block;
}

void append_zstd(std::span<const Run> runs, std::uint64_t bytes, std::string& out) {
  constexpr std::uint64_t kLongestPattern = 32U << 10;
  append_le(0xFD2F'B528, 4, out);
  out += '\xE0';  // a single segment, its size in eight bytes
  append_le(bytes, 8, out);
  if (bytes == 0) append_block_header(0, 0, true, out);
  for (const Run& run : runs) {
    const bool one_byte = std::ranges::all_of(run.pattern, [&](std::byte b) { return b == run.pattern[0]; });
    for (std::uint64_t at = 0; at < run.bytes;) {
      const std::uint64_t part = std::min(run.bytes - at, kZstdLargestBlock);
      const bool last = at + part == run.bytes && &run == &runs.back();
      const std::uint64_t literals = at == 0 ? run.pattern.size() : 0;
      if (one_byte) {
        append_block_header(part, 1, last, out);
        out += static_cast<char>(run.pattern[0]);
      } else if (run.pattern.size() <= kLongestPattern && part >= literals + 3) {
        std::string first;
        run.append(at, literals, first);
        append_match_block(first, run.pattern.size(), part - literals, last, out);
      } else {
        append_block_header(part, 0, last, out);
        run.append(at, part, out);
      }
      at += part;
    }
  }
}

// ---- Blosc, version 1 of its frames, around blocks of LZ4
// (https://github.com/Blosc/c-blosc/blob/main/README_CHUNK_FORMAT.rst,
// https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md)

constexpr std::uint64_t kBloscBlock = 1U << 20;

void append_lz4_length(std::uint64_t length, std::string& out) {
  for (; length >= 255; length -= 255) out += '\xFF';
  out += static_cast<char>(length);
}

void append_lz4_block(const Run& run, std::uint64_t bytes, std::string& out) {
  constexpr std::uint64_t kLastLiterals = 5, kLeastMatch = 4, kNibble = 15;
  const std::uint64_t literals = run.pattern.size(), match = bytes - literals - kLastLiterals - kLeastMatch;
  out += static_cast<char>(std::min(literals, kNibble) << 4 | std::min(match, kNibble));
  if (literals >= kNibble) append_lz4_length(literals - kNibble, out);
  run.append(0, literals, out);
  append_le(literals, 2, out);  // the distance
  if (match >= kNibble) append_lz4_length(match - kNibble, out);
  out += static_cast<char>(kLastLiterals << 4);
  run.append(bytes - kLastLiterals, kLastLiterals, out);
}

// Returns false if such a frame would not be smaller than one of uncompressed bytes.
bool append_blosc(const Run& run, std::uint64_t item_bytes, std::string& out) {
  constexpr std::uint64_t kLongestPattern = 65'535, kLeastBlock = 64;
  const std::uint64_t pattern = run.pattern.size();
  if (pattern > kLongestPattern || run.bytes < 2 * pattern + kLeastBlock) return false;
  // Every block but the last is whole patterns, and the last is not shorter than what LZ4 asks for.
  const std::uint64_t block = std::min(run.bytes, kBloscBlock / pattern * pattern);
  const std::uint64_t blocks = divide_up(run.bytes, block), rest = run.bytes - (blocks - 1) * block;
  if (rest < 2 * pattern + kLeastBlock) return false;
  std::string whole, end, body;
  append_lz4_block(run, block, whole);
  append_lz4_block(run, rest, end);
  const std::uint64_t begin = 16 + 4 * blocks;
  for (std::uint64_t i = 0; i < blocks; ++i) append_le(begin + i * (4 + whole.size()), 4, body);
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const std::string& packed = i + 1 < blocks ? whole : end;
    append_le(packed.size(), 4, body);
    body += packed;
  }
  out += std::string("\x02\x01\x30", 3);  // LZ4, blocks that are not split, no shuffle
  out += static_cast<char>(item_bytes <= 255 ? item_bytes : 1);
  append_le(run.bytes, 4, out);
  append_le(block, 4, out);
  append_le(16 + body.size(), 4, out);
  out += body;
  return true;
}

}  // namespace

Status append_repeated_frame(const StoredCodec& codec, ByteSpan element, std::uint64_t count,
                             std::string& out) {
  const auto bytes = checked_mul(element.size(), count);
  if (!bytes) return fail({ErrorCode::LimitExceeded, "more bytes than a frame of the codec holds"});
  H5_TRY(frame_size(codec.compressor, *bytes));
  const std::vector<Run> runs = runs_of(codec, element, count);
  if (codec.compressor == StoredCompressor::Zstd) {
    append_zstd(runs, *bytes, out);
    return {};
  }
  if (codec.compressor == StoredCompressor::Blosc && runs.size() == 1 &&
      append_blosc(runs[0], codec.item_bytes, out))
    return {};
  const std::string all = plain(runs);
  if (codec.compressor != StoredCompressor::Zlib)
    return append_frame(codec.compressor, codec.item_bytes, as_bytes(all), out);
  const auto stream = to_zlib(as_bytes(all));
  if (!stream) return fail({ErrorCode::OutOfMemory, "no memory to compress a chunk"});
  out += *stream;
  return {};
}

}  // namespace h5mount::view

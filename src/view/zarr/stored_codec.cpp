#include "stored_codec.h"

#if H5MOUNT_HAVE_BZIP2
#include <bzlib.h>
#endif
#if H5MOUNT_HAVE_ZSTD
#include <zstd.h>
#endif
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "../numpy_strings.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/deflate.h"
#include "h5mount/base/limits.h"
#include "h5mount/format/filter_ids.h"
#include "h5mount/view/zarr.h"

namespace h5mount::view {

namespace {

constexpr std::uint64_t kZlibBlock = 65'535;      // RFC 1951, 3.2.4: a stored block's length has 16 bits
constexpr std::uint64_t kZstdBlock = 128U << 10;  // RFC 8878, 3.1.1.2.4: the largest block
constexpr std::uint64_t kMaxBloscBytes = std::numeric_limits<std::int32_t>::max() - 16;
constexpr std::uint64_t kMaxLz4Bytes = 0x7E00'0000;  // LZ4_MAX_INPUT_SIZE

std::optional<StoredCompressor> compressor_of(std::uint16_t id) {
  switch (id) {
    case format::kDeflate:
      return StoredCompressor::Zlib;
#if H5MOUNT_HAVE_BZIP2
    case format::kBzip2:
      return StoredCompressor::Bzip2;
#endif
    case format::kBlosc:
      return StoredCompressor::Blosc;
    case format::kLz4:
      return StoredCompressor::Lz4;
    case format::kZstd:
      return StoredCompressor::Zstd;
    default:
      return std::nullopt;
  }
}

// How Zarr's metadata name a compressor: the object of version 2, and what version 3 has for it, unless it
// depends on the elements.
struct CompressorText {
  std::string_view version2, version3;
};
CompressorText text_of(StoredCompressor compressor) {
  constexpr std::array<CompressorText, 6> kTexts = {{
      {"null", ""},
      {R"({"id":"zlib","level":6})", R"(,{"name":"numcodecs.zlib","configuration":{"level":6}})"},
      {R"({"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0})", ""},
      {R"({"id":"zstd","level":3})", R"(,{"name":"zstd","configuration":{"level":3,"checksum":false}})"},
      {R"({"id":"lz4","acceleration":1})", R"(,{"name":"numcodecs.lz4","configuration":{"acceleration":1}})"},
      {R"({"id":"bz2","level":9})", R"(,{"name":"numcodecs.bz2","configuration":{"level":9}})"},
  }};
  return kTexts[static_cast<std::size_t>(compressor)];
}

// The size of the blocks into which the filter divides a chunk; a Zarr chunk is one block.
std::uint64_t lz4_block(const format::FilterDescription& filter) {
  constexpr std::uint64_t kDefault = 1U << 30;
  return filter.client_data.empty() || filter.client_data[0] == 0 ? kDefault : filter.client_data[0];
}

std::uint32_t adler32(ByteSpan bytes) {
  constexpr std::uint32_t kModulus = 65'521;
  constexpr std::size_t kRun = 5'552;  // the longest run whose sums fit 32 bits
  std::uint32_t a = 1, b = 0;
  while (!bytes.empty()) {
    const std::size_t run = std::min(bytes.size(), kRun);
    for (const std::byte byte : bytes.first(run)) b += a += std::to_integer<std::uint32_t>(byte);
    a %= kModulus;
    b %= kModulus;
    bytes = bytes.subspan(run);
  }
  return b << 16 | a;
}

// RFC 1950: header, stored blocks, checksum.
void append_zlib(ByteSpan bytes, std::string& out) {
  const std::uint32_t checksum = adler32(bytes);
  out += "\x78\x01";
  do {
    const std::size_t part = std::min<std::size_t>(bytes.size(), kZlibBlock);
    out += part == bytes.size() ? '\1' : '\0';
    append_le(part, 2, out);
    append_le(~static_cast<std::uint64_t>(part), 2, out);
    out += as_text(bytes.first(part));
    bytes = bytes.subspan(part);
  } while (!bytes.empty());
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(checksum >> shift & 0xFF);
}

// A Blosc 1 header with the flag for uncompressed bytes.
void append_blosc(std::uint64_t item_bytes, ByteSpan bytes, std::string& out) {
  const std::uint64_t item = item_bytes <= 255 ? item_bytes : 1;
  out += std::string("\x02\x01\x02", 3) + static_cast<char>(item);
  append_le(bytes.size(), 4, out);
  append_le(bytes.size(), 4, out);
  append_le(bytes.size() + 16, 4, out);
  out += as_text(bytes);
}

// RFC 8878: a single segment with its size in eight bytes, and raw blocks.
void append_zstd(ByteSpan bytes, std::string& out) {
  append_le(0xFD2F'B528, 4, out);
  out += '\xE0';
  append_le(bytes.size(), 8, out);
  do {
    const std::size_t part = std::min<std::size_t>(bytes.size(), kZstdBlock);
    append_le(part << 3 | (part == bytes.size() ? 1 : 0), 3, out);
    out += as_text(bytes.first(part));
    bytes = bytes.subspan(part);
  } while (!bytes.empty());
}

// The size, as numcodecs writes it, and a block of one run of literals.
void append_lz4(ByteSpan bytes, std::string& out) {
  append_le(bytes.size(), 4, out);
  if (bytes.size() < 15) {
    out += static_cast<char>(bytes.size() << 4);
  } else {
    std::size_t left = bytes.size() - 15;
    out += '\xF0';
    for (; left >= 255; left -= 255) out += '\xFF';
    out += static_cast<char>(left);
  }
  out += as_text(bytes);
}

// Appends compressed bytes, as bzip2 has no form for uncompressed ones.
Status append_bzip2(ByteSpan bytes, std::size_t most, std::string& out) {
#if H5MOUNT_HAVE_BZIP2
  const std::size_t before = out.size();
  out.resize(before + most);
  auto size = static_cast<unsigned>(most);
  // libbz2's interface is not const; the input is not written to.
  auto* const from = reinterpret_cast<char*>(const_cast<std::byte*>(bytes.data()));
  constexpr int kBlocksOf100Kilobytes = 9;
  if (BZ2_bzBuffToBuffCompress(out.data() + before, &size, from, static_cast<unsigned>(bytes.size()),
                               kBlocksOf100Kilobytes, 0, 0) != BZ_OK)
    return fail({ErrorCode::Internal, "bzip2: no memory"});
  out.resize(before + size);
  return {};
#else
  (void)bytes, (void)most, (void)out;
  return fail({ErrorCode::Internal, "built without libbz2"});
#endif
}

}  // namespace

std::string StoredCodec::compressor_json() const {
  return std::string(text_of(compressor).version2);
}

std::string StoredCodec::filters_json() const {
  return shuffle == 0 ? "null" : fmt::format(R"([{{"id":"shuffle","elementsize":{}}}])", shuffle);
}

std::string StoredCodec::version3_json() const {
  std::string out;
  if (shuffle != 0)
    out += fmt::format(R"(,{{"name":"numcodecs.shuffle","configuration":{{"elementsize":{}}}}})", shuffle);
  if (compressor == StoredCompressor::Blosc)
    out += fmt::format(R"(,{{"name":"blosc","configuration":{{"cname":"lz4","clevel":5,"shuffle":"shuffle",)"
                       R"("typesize":{},"blocksize":0}}}})",
                       item_bytes);
  return out.append(text_of(compressor).version3);
}

std::optional<StoredCodec> stored_codec(const object::DatasetDescription& dataset) {
  if (dataset.layout.cls != format::LayoutClass::Chunked) return std::nullopt;
  std::uint64_t chunk_bytes = dataset.element_size;
  for (const std::uint64_t extent : dataset.layout.chunk_dims) {
    const auto bytes = checked_mul(chunk_bytes, extent);
    if (!bytes) return std::nullopt;
    chunk_bytes = *bytes;
  }
  StoredCodec out;
  out.item_bytes = dataset.element_size;
  for (const format::FilterDescription& filter : dataset.pipeline.filters) {
    if (out.fletcher32) return std::nullopt;  // a later filter's output cannot be cut at the checksum
    const auto compressor = compressor_of(filter.id);
    const bool nothing_yet = out.compressor == StoredCompressor::None;
    if (filter.id == format::kShuffle && out.shuffle == 0 && nothing_yet) {
      if (filter.client_data.empty() || filter.client_data[0] != dataset.element_size) return std::nullopt;
      out.shuffle = dataset.element_size;
    } else if (filter.id == format::kFletcher32) {
      out.fletcher32 = true;
    } else if (compressor && nothing_yet) {
      if (filter.id == format::kLz4 && lz4_block(filter) < chunk_bytes) return std::nullopt;
      out.compressor = *compressor;
    } else {
      return std::nullopt;
    }
  }
  const bool framed = !dataset.pipeline.filters.empty();
  if (framed && (chunk_bytes > limits::kMaxFramedChunkBytes || !frame_size(out.compressor, chunk_bytes)))
    return std::nullopt;
  return out;
}

std::optional<StoredCodec> zarr_codec(const object::DatasetDescription& dataset, ZarrEncoding encoding) {
  const auto type = zarr_type(*dataset.type, encoding);
  if (!type || type->variable_strings || !type->is_stored_form(dataset.element_size) ||
      NumpyStrings::in(*dataset.type))
    return std::nullopt;
  auto codec = stored_codec(dataset);
  // The elements of an array's type are elements of their own to Zarr.
  std::uint64_t item_bytes = type->bytes;
  for (const std::uint32_t length : type->dims) item_bytes /= std::max<std::uint32_t>(length, 1);
  if (codec && codec->shuffle != 0 && codec->shuffle != item_bytes) return std::nullopt;
  return codec;
}

std::optional<StoredPart> stored_part(const StoredCodec& codec, const dataset::StoredChunks::Stored& stored,
                                      std::uint64_t bytes) {
  constexpr std::uint64_t kFletcherBytes = 4;
  // The header of a chunk written by HDF5's LZ4 filter: u64 BE its size, u32 BE the size of a block, u32 BE
  // that of the one block as stored.
  constexpr std::uint64_t kLz4HeaderBytes = 16;
  const bool lz4 = codec.compressor == StoredCompressor::Lz4;
  const std::uint64_t before = lz4 ? kLz4HeaderBytes : 0, behind = codec.fletcher32 ? kFletcherBytes : 0;
  if (!stored.filtered || stored.bytes <= before + behind) return std::nullopt;
  // The LZ4 filter stores a block uncompressed if compression would not make it smaller.
  if (lz4 && stored.bytes == before + bytes + behind) return std::nullopt;
  StoredPart out{{}, {before, stored.bytes - behind}};
  if (lz4) append_le(bytes, 4, out.head);
  return out;
}

Result<std::uint64_t> frame_size(StoredCompressor compressor, std::uint64_t bytes) {
  const Error too_large(ErrorCode::LimitExceeded, "more bytes than a frame of the codec holds");
  const auto blocks = [&](std::uint64_t most) { return std::max<std::uint64_t>(divide_up(bytes, most), 1); };
  if (bytes > std::numeric_limits<std::int64_t>::max() / 2) return fail(too_large);
  switch (compressor) {
    case StoredCompressor::None:
      return bytes;
    case StoredCompressor::Zlib:
      return 2 + bytes + 5 * blocks(kZlibBlock) + 4;
    case StoredCompressor::Blosc:
      if (bytes > kMaxBloscBytes) return fail(too_large);
      return 16 + bytes;
    case StoredCompressor::Zstd:
      return 13 + bytes + 3 * blocks(kZstdBlock);
    case StoredCompressor::Lz4:
      if (bytes > kMaxLz4Bytes) return fail(too_large);
      return 4 + 1 + (bytes < 15 ? 0 : (bytes - 15) / 255 + 1) + bytes;
    case StoredCompressor::Bzip2:  // https://sourceware.org/bzip2/manual, 3.5.1
      return bytes + bytes / 100 + 601;
  }
  return fail(too_large);
}

Status append_frame(StoredCompressor compressor, std::uint64_t item_bytes, ByteSpan bytes, std::string& out) {
  H5_ASSIGN(const std::uint64_t size, frame_size(compressor, bytes.size()));
  out.reserve(out.size() + static_cast<std::size_t>(size));
  switch (compressor) {
    case StoredCompressor::None:
      out += as_text(bytes);
      break;
    case StoredCompressor::Zlib:
      append_zlib(bytes, out);
      break;
    case StoredCompressor::Blosc:
      append_blosc(item_bytes, bytes, out);
      break;
    case StoredCompressor::Zstd:
      append_zstd(bytes, out);
      break;
    case StoredCompressor::Lz4:
      append_lz4(bytes, out);
      break;
    case StoredCompressor::Bzip2:
      return append_bzip2(bytes, static_cast<std::size_t>(size), out);
  }
  return {};
}

Status append_compressed(StoredCompressor compressor, std::uint64_t item_bytes, ByteSpan bytes,
                         std::string& out) {
  // A Blosc 1 header for one block of zlib, whose bytes are not shuffled and not split
  // (https://github.com/Blosc/c-blosc/blob/main/README_CHUNK_FORMAT.rst).
  constexpr std::size_t kBloscHead = 16 + 4 + 4;
  if (compressor == StoredCompressor::Zlib || (compressor == StoredCompressor::Blosc && !bytes.empty())) {
    const auto stream = to_zlib(bytes);
    if (!stream) return fail({ErrorCode::OutOfMemory, "no memory to compress a chunk"});
    if (compressor == StoredCompressor::Zlib) {
      out += *stream;
      return {};
    }
    if (kBloscHead + stream->size() < bytes.size()) {
      out += std::string("\x02\x01\x70", 3) + static_cast<char>(item_bytes <= 255 ? item_bytes : 1);
      append_le(bytes.size(), 4, out);
      append_le(bytes.size(), 4, out);
      append_le(kBloscHead + stream->size(), 4, out);
      append_le(kBloscHead - 4, 4, out);
      append_le(stream->size(), 4, out);
      out += *stream;
      return {};
    }
  }
#if H5MOUNT_HAVE_ZSTD
  if (compressor == StoredCompressor::Zstd) {
    std::string frame(ZSTD_compressBound(bytes.size()), '\0');
    const std::size_t size =
        ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), ZSTD_CLEVEL_DEFAULT);
    if (ZSTD_isError(size) != 0) return fail({ErrorCode::OutOfMemory, "no memory to compress a chunk"});
    out.append(frame, 0, size);
    return {};
  }
#endif
  return append_frame(compressor, item_bytes, bytes, out);
}

void shuffle_bytes(std::uint64_t item_bytes, std::vector<std::byte>& bytes) {
  if (item_bytes < 2) return;
  const auto item = static_cast<std::size_t>(item_bytes);
  const std::size_t count = bytes.size() / item, whole = count * item;
  std::vector<std::byte> out(bytes.size());
  for (std::size_t at = 0; at < item; ++at)
    for (std::size_t i = 0; i < count; ++i) out[at * count + i] = bytes[i * item + at];
  std::memcpy(out.data() + whole, bytes.data() + whole, bytes.size() - whole);
  bytes.swap(out);
}

}  // namespace h5mount::view

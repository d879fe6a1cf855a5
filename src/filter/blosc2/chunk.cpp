#include "chunk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../codecs.h"
#include "../filters.h"
#include "../temporary.h"
#include "block_filters.h"
#include "h5mount/base/checked.h"

namespace h5mount::filter::blosc {
namespace {

// Repeats `value`; the first byte written is the one at position `phase` of the pattern.
void fill_pattern(ByteSpan value, std::size_t phase, MutableByteSpan out) {
  for (std::size_t i = 0; i < out.size() && i < value.size(); ++i) out[i] = value[(phase + i) % value.size()];
  for (std::size_t done = value.size(); done < out.size();) {
    const std::size_t here = std::min(done, out.size() - done);
    std::memcpy(out.data() + done, out.data(), here);
    done += here;
  }
}

}  // namespace

Chunk Chunk::make_special(Special special, std::size_t typesize, std::size_t nbytes) {
  Chunk chunk;
  chunk.header_.special = special;
  chunk.header_.typesize = typesize;
  chunk.header_.nbytes = nbytes;
  return chunk;
}

Result<Chunk> Chunk::open(ByteSpan bytes) {
  Chunk chunk;
  H5_ASSIGN(chunk.header_, decode_chunk_header(bytes));
  const ChunkHeader& header = chunk.header_;
  chunk.bytes_ = bytes.first(header.cbytes);
  if (header.special == Special::Value && header.cbytes == header.header_bytes) {
    return failed("blosc2", "the repeated value is missing");
  }
  if (header.special != Special::None) return chunk;
  if (header.stored) {
    if (header.cbytes - header.header_bytes < header.nbytes)
      return failed("blosc", "stored bytes are cut short");
    return chunk;
  }
  if (header.nbytes == 0) return chunk;
  chunk.blocks_ = static_cast<std::size_t>(divide_up(header.nbytes, header.blocksize));
  if (chunk.blocks_ > (header.cbytes - header.header_bytes) / 4) {
    return failed("blosc", "the chunk has no room for its blocks' offsets");
  }
  chunk.data_at_ = header.header_bytes + 4 * chunk.blocks_;
  if (header.dictionary) {
    H5_ASSIGN(chunk.dictionary_, chunk.find_dictionary());
  }
  return chunk;
}

Result<ByteSpan> Chunk::find_dictionary() const {
  if (bytes_.size() - data_at_ < 4) return failed("blosc2", "the dictionary is cut short");
  const auto size = load_le<std::int32_t>(bytes_.data() + data_at_);
  const ByteSpan rest = bytes_.subspan(data_at_ + 4);
  if (size <= 0 || static_cast<std::size_t>(size) > rest.size())
    return failed("blosc2", "the dictionary's size");
  return rest.first(static_cast<std::size_t>(size));
}

Status Chunk::read_plain(std::size_t offset, MutableByteSpan out) const {
  static constexpr std::uint32_t kNaN4 = 0x7fc00000U;
  static constexpr std::uint64_t kNaN8 = 0x7ff8000000000000ULL;
  if (out.empty()) return {};
  switch (header_.special) {
    case Special::None:
      std::memcpy(out.data(), bytes_.data() + header_.header_bytes + offset, out.size());
      return {};
    case Special::Zeros:
    case Special::Uninitialised:  // never written: zeros, not uninitialised memory
      std::memset(out.data(), 0, out.size());
      return {};
    case Special::NaN: {
      const ByteSpan nan =
          header_.typesize == 4 ? std::as_bytes(std::span(&kNaN4, 1)) : std::as_bytes(std::span(&kNaN8, 1));
      if (header_.typesize != 4 && header_.typesize != 8)
        return failed("blosc2", "NaN of a type that has none");
      fill_pattern(nan, offset % nan.size(), out);
      return {};
    }
    case Special::Value: {
      const ByteSpan value = bytes_.subspan(header_.header_bytes);
      fill_pattern(value, offset % value.size(), out);
      return {};
    }
  }
  return {};
}

std::size_t Chunk::block_bytes(std::size_t index) const {
  return std::min(header_.blocksize, header_.nbytes - index * header_.blocksize);
}

std::size_t Chunk::stream_count(std::size_t block_bytes) const {
  if (!header_.may_split || block_bytes != header_.blocksize) return 1;
  if (header_.is_blosc1() && (header_.typesize > 16 || header_.blocksize / header_.typesize < 128)) return 1;
  return header_.typesize;
}

Status Chunk::decode_block(std::size_t index, MutableByteSpan out, ByteSpan reference) const {
  const auto offset = load_le<std::int32_t>(bytes_.data() + header_.header_bytes + 4 * index);
  if (offset < 0 || static_cast<std::size_t>(offset) < data_at_ ||
      static_cast<std::size_t>(offset) > bytes_.size()) {
    return failed("blosc", "a block's offset");
  }
  const ByteSpan streams = bytes_.subspan(static_cast<std::size_t>(offset));
  filter_counters().blocks_decoded.fetch_add(1, std::memory_order_relaxed);
  const auto moved =
      std::ranges::count_if(header_.filters, [&](FilterSlot slot) { return moves(header_, slot); });
  if (moved == 0) {
    H5_TRY(decode_streams(streams, out));
    return undo_filters(header_, block_shape_, reference, out, {});
  }
  const Temporary other(out.size());
  H5_TRY(decode_streams(streams, moved % 2 == 0 ? out : other.bytes()));
  return undo_filters(header_, block_shape_, reference, out, other.bytes());
}

Status Chunk::decode_streams(ByteSpan in, MutableByteSpan out) const {
  const std::size_t count = stream_count(out.size());
  if (out.size() % count != 0) return failed("blosc", "a block that its streams do not divide");
  const std::size_t each = out.size() / count;
  for (std::size_t i = 0; i < count; ++i) H5_TRY(decode_stream(in, out.subspan(i * each, each)));
  return {};
}

Status Chunk::decode_stream(ByteSpan& in, MutableByteSpan out) const {
  if (in.size() < 4) return failed("blosc", "a stream is cut short");
  const auto size = load_le<std::int32_t>(in.data());
  in = in.subspan(4);
  if (size <= 0) {
    if (header_.is_blosc1()) return failed("blosc", "a stream of no bytes");
    if (size == 0) {
      std::memset(out.data(), 0, out.size());
      return {};
    }
    if (in.empty()) return failed("blosc2", "a run is cut short");
    const bool run = (std::to_integer<unsigned>(in.front()) & 1U) != 0;
    if (!run || size < -255) return failed("blosc2", "a stream's token");
    std::memset(out.data(), -size, out.size());
    in = in.subspan(1);
    return {};
  }
  const auto stored = static_cast<std::size_t>(size);
  if (stored > in.size()) return failed("blosc", "a stream is cut short");
  const ByteSpan data = in.first(stored);
  in = in.subspan(stored);
  if (stored == out.size()) {
    std::memcpy(out.data(), data.data(), stored);
    return {};
  }
  H5_ASSIGN(const std::size_t written, run_codec(data, out));
  if (written != out.size()) return failed("blosc", "a stream gives too few bytes");
  return {};
}

Result<std::size_t> Chunk::run_codec(ByteSpan in, MutableByteSpan out) const {
  switch (header_.codec_format) {
    case 0:
      return decode_blosclz(in, out);
    case 1:
      return decode_lz4(in, out, dictionary_);
    case 2:
      return decode_snappy(in, out);
    case 3:
      return decode_zlib(in, out);
    case 4:
      return decode_zstd(in, out, dictionary_);
    case 6:
      return run_plugin_codec(in, out);
    default:
      return fail(Error(ErrorCode::UnsupportedFeature,
                        "blosc: codec format " + std::to_string(header_.codec_format) + " is not known"));
  }
}

Result<std::size_t> Chunk::run_plugin_codec(ByteSpan in, MutableByteSpan out) const {
  const int meta = header_.codec_meta;
  switch (header_.codec_id) {
    case 33:  // "zfp_acc": the decimal exponent of the absolute error
      return decode_zfp(ZfpMode::Accuracy, std::pow(10.0, static_cast<std::int8_t>(meta)), block_shape_, in,
                        out);
    case 34: {  // "zfp_prec": bit planes, plus a number that depends on the dimensions
      const double planes = meta + 3 + 2 * static_cast<double>(block_shape_.size());
      return decode_zfp(ZfpMode::Precision, std::min(planes, 64.0), block_shape_, in, out);
    }
    case 35:  // "zfp_rate": bits per value, as a percentage of the value's own bits
      return decode_zfp(ZfpMode::Rate, meta * static_cast<double>(header_.typesize * 8) / 100, block_shape_,
                        in, out);
    default:
      break;
  }
  static constexpr std::pair<int, std::string_view> kNames[] = {
      {32, "ndlz"}, {36, "openhtj2k"}, {37, "grok"}, {38, "openzl"}, {39, "j2k"}, {40, "htj2k"}};
  const auto* known =
      std::ranges::find(kNames, int{header_.codec_id}, &std::pair<int, std::string_view>::first);
  return fail(Error(ErrorCode::UnsupportedFeature,
                    fmt::format("blosc2: codec {}{} inside the chunk is not available", header_.codec_id,
                                known == std::end(kNames) ? "" : fmt::format(" ({})", known->second))));
}

Status Chunk::decode(MutableByteSpan out) const {
  if (is_plain()) return read_plain(0, out);
  for (std::size_t i = 0; i < blocks_; ++i) {
    const MutableByteSpan block = out.subspan(i * header_.blocksize, block_bytes(i));
    const ByteSpan reference = i == 0 ? ByteSpan{} : ByteSpan(out.first(block_bytes(0)));
    H5_TRY(decode_block(i, block, reference));
  }
  return {};
}

}  // namespace h5mount::filter::blosc

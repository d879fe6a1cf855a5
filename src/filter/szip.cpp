// Szip (filter 4):
//
//   decoded size, u32 little-endian | CCSDS 121.0-B bit stream
//
// Client data: options mask, pixels per block, bits per pixel, pixels per scanline. libaec decodes the
// stream. The conventions of the szip interface are implemented here, with a buffer of one scanline:
// scanlines are padded to whole blocks, and pixels of 32 and 64 bits are coded as byte planes.
#if H5MOUNT_HAVE_SZIP
#include <libaec.h>

#include <algorithm>

#include "filters.h"
#include "temporary.h"
#include "unshuffle.h"

namespace h5mount::filter {
namespace {

constexpr std::uint32_t kMsbOption = 16;
constexpr std::uint32_t kNearestNeighbourOption = 32;
constexpr std::uint32_t kMaxBlocksPerScanline = 128;

struct Coding {
  unsigned flags = 0;            // libaec's flags
  unsigned bits_per_sample = 0;  // bits of a sample in the stream
  unsigned sample_bytes = 0;     // bytes of a decoded sample
  unsigned pixel_planes = 1;     // 4 or 8 if the bytes of a pixel were coded as planes, else 1
  unsigned block_size = 0;       // in samples
  unsigned blocks_per_line = 0;
  std::size_t line_bytes = 0;  // bytes of a scanline: without its padding, and with it
  std::size_t padded_line_bytes = 0;
};

class Szip final : public Filter {
 public:
  explicit Szip(const Coding& coding) : coding_(coding) {}

  Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const override {
    if (in.size() < 4) return failed("szip", "no room for the decoded size");
    const std::size_t size = load_le<std::uint32_t>(in.data());
    if (size > out.size()) return failed("szip", "the stream declares more bytes than the chunk has");
    const MutableByteSpan to = out.first(size);
    if (coding_.pixel_planes == 1) {
      H5_TRY(decode_lines(in.subspan(4), to));
      return size;
    }
    const Temporary planes(size);
    H5_TRY(decode_lines(in.subspan(4), planes.bytes()));
    unshuffle_buffer(planes.bytes(), coding_.pixel_planes, to);
    return size;
  }

 private:
  Status decode_lines(ByteSpan in, MutableByteSpan out) const {
    if (out.empty()) return {};
    aec_stream stream{};
    stream.next_in = reinterpret_cast<const unsigned char*>(in.data());
    stream.avail_in = in.size();
    stream.bits_per_sample = coding_.bits_per_sample;
    stream.block_size = coding_.block_size;
    stream.rsi = coding_.blocks_per_line;
    stream.flags = coding_.flags;
    if (aec_decode_init(&stream) != AEC_OK) return failed("szip", "the stream is damaged");
    const std::unique_ptr<aec_stream, int (*)(aec_stream*)> ended(&stream, aec_decode_end);
    if (coding_.line_bytes == coding_.padded_line_bytes) return read(stream, out, out.size());
    const Temporary line(coding_.padded_line_bytes);
    while (!out.empty()) {
      const std::size_t wanted = std::min(coding_.line_bytes, out.size());
      H5_TRY(read(stream, line.bytes(), wanted));
      std::memcpy(out.data(), line.bytes().data(), wanted);
      out = out.subspan(wanted);
    }
    return {};
  }

  // Reads `out`, of which the bytes behind the first `wanted`, the last scanline's padding, may be missing.
  static Status read(aec_stream& stream, MutableByteSpan out, std::size_t wanted) {
    stream.next_out = reinterpret_cast<unsigned char*>(out.data());
    stream.avail_out = out.size();
    if (aec_decode(&stream, AEC_NO_FLUSH) != AEC_OK) return failed("szip", "the stream is damaged");
    if (out.size() - stream.avail_out < wanted) return failed("szip", "the stream is cut short");
    return {};
  }

  Coding coding_;
};

}  // namespace

Result<FilterPtr> make_szip(const FilterSpec& spec, std::size_t) {
  if (spec.client_data.size() < 4) return bad_client_data("szip", "four values are needed");
  const std::uint32_t options = spec.client_data[0];
  const std::uint32_t pixels_per_block = spec.client_data[1];
  const std::uint32_t bits = spec.client_data[2];
  const std::uint32_t pixels_per_scanline = spec.client_data[3];
  if (pixels_per_block < 2 || pixels_per_block > 32 || pixels_per_block % 2 != 0) {
    return bad_client_data("szip", "pixels per block is not an even number from 2 to 32");
  }
  if (bits == 0 || (bits > 32 && bits != 64)) return bad_client_data("szip", "bits per pixel");
  if (pixels_per_scanline == 0 || pixels_per_scanline > kMaxBlocksPerScanline * pixels_per_block) {
    return bad_client_data("szip", "pixels per scanline");
  }

  Coding coding;
  if ((options & kNearestNeighbourOption) != 0) coding.flags |= AEC_DATA_PREPROCESS;
  if ((options & kMsbOption) != 0) coding.flags |= AEC_DATA_MSB;
  coding.pixel_planes = bits == 32 || bits == 64 ? bits / 8 : 1;
  coding.bits_per_sample = coding.pixel_planes == 1 ? bits : 8;
  coding.sample_bytes = coding.bits_per_sample > 16 ? 4 : coding.bits_per_sample > 8 ? 2 : 1;
  coding.block_size = pixels_per_block;
  coding.blocks_per_line = (pixels_per_scanline + pixels_per_block - 1) / pixels_per_block;
  coding.line_bytes = std::size_t{pixels_per_scanline} * coding.sample_bytes;
  coding.padded_line_bytes = std::size_t{coding.blocks_per_line} * pixels_per_block * coding.sample_bytes;
  return std::make_shared<Szip>(coding);
}

}  // namespace h5mount::filter
#endif

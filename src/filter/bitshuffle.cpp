// Bitshuffle (filter 32008). Without compression the chunk is a sequence of blocks; with compression
//
//   decoded bytes, u64 | block size in bytes, u32 | per block: stored size, u32 | its bytes (big-endian)
//
// A block holds bit planes (bit_transpose.h). The full blocks are followed by one of the remaining elements,
// rounded down to a multiple of 8, then by the last 0 to 7 elements unchanged and without a size.
// Client data: major, minor, element size, block size in elements (0: the default), compression.
#include <algorithm>

#include "bit_transpose.h"
#include "codecs.h"
#include "filters.h"
#include "temporary.h"

namespace h5mount::filter {
namespace {

enum class Compression : std::uint32_t { None = 0, Lz4 = 2, Zstd = 3 };

constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kTargetBlockBytes = 8192;
constexpr std::size_t kMinBlock = 128;  // elements

class Bitshuffle final : public Filter {
 public:
  Bitshuffle(std::size_t element_size, std::size_t block, Compression compression)
      : element_size_(element_size), block_(block), compression_(compression) {}

  Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const override {
    if (compression_ == Compression::None) return decode_plain(in, out);
    if (in.size() < kHeaderBytes) return failed("bitshuffle", "no room for the header");
    const auto size = load_be<std::uint64_t>(in.data());
    const std::size_t block_bytes = load_be<std::uint32_t>(in.data() + 8);
    if (size > out.size()) return failed("bitshuffle", "more bytes declared than the chunk has");
    const std::size_t block = block_bytes == 0 ? block_ : block_bytes / element_size_;
    if (block == 0 || block % 8 != 0)
      return failed("bitshuffle", "the block size is no multiple of eight elements");
    return decode_compressed(in.subspan(kHeaderBytes), out.first(static_cast<std::size_t>(size)), block);
  }

 private:
  Result<std::size_t> decode_plain(ByteSpan in, MutableByteSpan out) const {
    if (in.size() > out.size()) return failed("bitshuffle", "more bytes stored than the chunk has");
    const std::size_t count = in.size() / element_size_ / 8 * 8;
    for (std::size_t first = 0; first < count; first += block_) {
      const std::size_t here = std::min(block_, count - first);
      untranspose_bits(in.data() + first * element_size_, here, element_size_,
                       out.data() + first * element_size_);
    }
    const std::size_t done = count * element_size_;
    if (done < in.size()) std::memcpy(out.data() + done, in.data() + done, in.size() - done);
    return in.size();
  }

  Result<std::size_t> decode_compressed(ByteSpan in, MutableByteSpan out, std::size_t block) const {
    const std::size_t count = out.size() / element_size_ / 8 * 8;
    const Temporary planes(std::min(block, count) * element_size_);
    for (std::size_t first = 0; first < count; first += block) {
      const std::size_t here = std::min(block, count - first);
      H5_TRY(decode_block(in, planes.bytes().first(here * element_size_)));
      untranspose_bits(planes.bytes().data(), here, element_size_, out.data() + first * element_size_);
    }
    const MutableByteSpan rest = out.subspan(count * element_size_);
    if (in.size() < rest.size()) return failed("bitshuffle", "the last elements are cut short");
    if (!rest.empty()) std::memcpy(rest.data(), in.data(), rest.size());
    return out.size();
  }

  Status decode_block(ByteSpan& in, MutableByteSpan planes) const {
    if (in.size() < 4) return failed("bitshuffle", "a block is cut short");
    const std::size_t stored = load_be<std::uint32_t>(in.data());
    if (stored > in.size() - 4) return failed("bitshuffle", "a block is cut short");
    const ByteSpan block = in.subspan(4, stored);
    in = in.subspan(4 + stored);
    H5_ASSIGN(const std::size_t written,
              compression_ == Compression::Lz4 ? decode_lz4(block, planes) : decode_zstd(block, planes));
    if (written != planes.size()) return failed("bitshuffle", "a block gives too few bytes");
    return {};
  }

  std::size_t element_size_;
  std::size_t block_;  // elements
  Compression compression_;
};

std::size_t default_block(std::size_t element_size) {
  return std::max(kTargetBlockBytes / element_size / 8 * 8, kMinBlock);
}

}  // namespace

Result<FilterPtr> make_bitshuffle(const FilterSpec& spec, std::size_t) {
  const auto& values = spec.client_data;
  if (values.size() < 3 || values[2] == 0)
    return bad_client_data("bitshuffle", "the element size is missing");
  const std::size_t element_size = values[2];
  const std::size_t block = values.size() > 3 && values[3] != 0 ? values[3] : default_block(element_size);
  if (block % 8 != 0) return bad_client_data("bitshuffle", "the block size is no multiple of eight elements");
  const std::uint32_t compression = values.size() > 4 ? values[4] : 0;
  if (compression != 0 && compression != 2 && compression != 3) {
    return fail(
        Error(ErrorCode::UnsupportedFeature, "bitshuffle: compression is neither none, LZ4 nor Zstandard")
            .with_found(compression));
  }
  return std::make_shared<Bitshuffle>(element_size, block, static_cast<Compression>(compression));
}

}  // namespace h5mount::filter

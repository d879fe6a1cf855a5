// LZ4 (filter 32004):
//
//   decoded size, u64 | block size, u32 | per block: stored size, u32 | its bytes (big-endian)
//
// Blocks are raw LZ4 blocks; a block whose stored size equals its decoded size is not compressed. The last
// block may be short. liblz4's *_safe functions stay within both buffers.
#include <algorithm>

#include "codecs.h"
#include "filters.h"

#if H5MOUNT_HAVE_LZ4
#include <lz4.h>
#endif

namespace h5mount::filter {

#if H5MOUNT_HAVE_LZ4
Result<std::size_t> decode_lz4(ByteSpan in, MutableByteSpan out, ByteSpan dictionary) {
  constexpr std::size_t kMaxInput = LZ4_MAX_INPUT_SIZE;
  if (in.size() > kMaxInput || out.size() > kMaxInput || dictionary.size() > kMaxInput)
    return failed("lz4", "block too large");
  const int written = LZ4_decompress_safe_usingDict(
      reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(out.data()),
      static_cast<int>(in.size()), static_cast<int>(out.size()),
      reinterpret_cast<const char*>(dictionary.data()), static_cast<int>(dictionary.size()));
  if (written < 0) return failed("lz4", "the block is damaged or larger than declared");
  return static_cast<std::size_t>(written);
}
#else
Result<std::size_t> decode_lz4(ByteSpan, MutableByteSpan, ByteSpan) {
  return not_built_in("LZ4", "liblz4");
}
#endif

namespace {

constexpr std::size_t kFrameHeaderBytes = 12;

class Lz4 final : public Filter {
 public:
  Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const override {
    if (in.size() < kFrameHeaderBytes) return failed("lz4", "no room for the header");
    const auto size = load_be<std::uint64_t>(in.data());
    const std::uint64_t block_size = std::min<std::uint64_t>(load_be<std::uint32_t>(in.data() + 8), size);
    if (size > out.size()) return failed("lz4", "more bytes declared than the chunk has");
    if (size != 0 && block_size == 0) return failed("lz4", "a block size of 0");
    in = in.subspan(kFrameHeaderBytes);
    out = out.first(static_cast<std::size_t>(size));
    while (!out.empty()) {
      const std::size_t here = std::min(out.size(), static_cast<std::size_t>(block_size));
      H5_TRY(decode_block(in, out.first(here)));
      out = out.subspan(here);
    }
    return static_cast<std::size_t>(size);
  }

 private:
  static Status decode_block(ByteSpan& in, MutableByteSpan out) {
    if (in.size() < 4) return failed("lz4", "a block is cut short");
    const std::size_t stored = load_be<std::uint32_t>(in.data());
    in = in.subspan(4);
    if (stored > in.size()) return failed("lz4", "a block is cut short");
    const ByteSpan block = in.first(stored);
    in = in.subspan(stored);
    if (stored == out.size()) {
      std::memcpy(out.data(), block.data(), stored);
      return {};
    }
    H5_ASSIGN(const std::size_t written, decode_lz4(block, out));
    if (written != out.size()) return failed("lz4", "a block gives too few bytes");
    return {};
  }
};

}  // namespace

Result<FilterPtr> make_lz4(const FilterSpec&, std::size_t) {
  return std::make_shared<Lz4>();
}

}  // namespace h5mount::filter

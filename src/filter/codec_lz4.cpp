// LZ4 blocks by liblz4, whose *_safe functions stay within both buffers.
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
  return fail(Error(ErrorCode::UnsupportedFeature, "LZ4 is not available: needs liblz4 at build time"));
}
#endif

}  // namespace h5mount::filter

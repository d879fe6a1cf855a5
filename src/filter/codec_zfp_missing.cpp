// Built instead of zfp.cpp if libzfp was not found.
#include "codecs.h"

namespace h5mount::filter {

Result<std::size_t> decode_zfp(ZfpMode, double, std::span<const std::uint64_t>, ByteSpan, MutableByteSpan) {
  return fail(Error(ErrorCode::UnsupportedFeature, "zfp is not available: needs libzfp at build time"));
}

}  // namespace h5mount::filter

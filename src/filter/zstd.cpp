// Zstandard frames by libzstd (filter 32015: the chunk is one of them).
#include "codecs.h"
#include "filters.h"

#if H5MOUNT_HAVE_ZSTD
#include <zstd.h>
#endif

namespace h5mount::filter {

#if H5MOUNT_HAVE_ZSTD
namespace {

// One context (about 160 KiB of tables) per thread, created at first use.
struct Context {
  ZSTD_DCtx* handle = ZSTD_createDCtx();
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { ZSTD_freeDCtx(handle); }
};

}  // namespace

Result<std::size_t> decode_zstd(ByteSpan in, MutableByteSpan out, ByteSpan dictionary) {
  thread_local Context context;
  if (context.handle == nullptr) return fail(Error(ErrorCode::Internal, "zstd: no memory"));
  const std::size_t written =
      dictionary.empty() ? ZSTD_decompressDCtx(context.handle, out.data(), out.size(), in.data(), in.size())
                         : ZSTD_decompress_usingDict(context.handle, out.data(), out.size(), in.data(),
                                                     in.size(), dictionary.data(), dictionary.size());
  if (ZSTD_isError(written) != 0) return failed("zstd", ZSTD_getErrorName(written));
  return written;
}
#else
Result<std::size_t> decode_zstd(ByteSpan, MutableByteSpan, ByteSpan) {
  return not_built_in("Zstandard", "libzstd");
}
#endif

}  // namespace h5mount::filter

// zlib streams by libdeflate, which decodes whole buffers two to three times as fast as zlib. Chunks are
// whole buffers: nothing needs a streaming decoder.
#include <libdeflate.h>

#include "codecs.h"

namespace h5mount::filter {
namespace {

// A decompressor has about 10 KiB of tables and is not thread safe: one per thread, created at first use.
struct Decompressor {
  libdeflate_decompressor* handle = libdeflate_alloc_decompressor();
  Decompressor() = default;
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  ~Decompressor() { libdeflate_free_decompressor(handle); }
};

}  // namespace

Result<std::size_t> decode_zlib(ByteSpan in, MutableByteSpan out) {
  thread_local Decompressor decompressor;
  if (decompressor.handle == nullptr) return fail(Error(ErrorCode::Internal, "zlib: no memory"));
  std::size_t consumed = 0;
  std::size_t written = 0;
  switch (libdeflate_zlib_decompress_ex(decompressor.handle, in.data(), in.size(), out.data(), out.size(),
                                        &consumed, &written)) {
    case LIBDEFLATE_SUCCESS:
      return written;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
      return fail(Error(ErrorCode::FilterFailed,
                        "zlib: stream inflates to more than " + std::to_string(out.size()) + " bytes"));
    default:
      return fail(Error(ErrorCode::FilterFailed, "zlib: stream is damaged"));
  }
}

}  // namespace h5mount::filter

// zlib streams by zlib. Built instead of zlib_libdeflate.cpp where libdeflate was not found.
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "codecs.h"

namespace h5mount::filter {
namespace {

// One inflate state (40 KiB) per thread, reset for every stream.
struct Inflater {
  z_stream stream{};
  bool ready = inflateInit(&stream) == Z_OK;
  Inflater() = default;
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
};

// zlib counts in unsigned int: larger buffers are passed in parts.
unsigned part(std::size_t bytes) {
  return static_cast<unsigned>(std::min<std::size_t>(bytes, std::numeric_limits<unsigned>::max()));
}

int inflate_all(z_stream& stream, ByteSpan in, MutableByteSpan out, std::size_t& written) {
  std::size_t consumed = 0;
  while (true) {
    const unsigned in_part = part(in.size() - consumed);
    const unsigned out_part = part(out.size() - written);
    // zlib's own interface is not const; inflate does not write to its input.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data() + consumed));
    stream.avail_in = in_part;
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + written);
    stream.avail_out = out_part;
    const int result = inflate(&stream, Z_NO_FLUSH);
    const std::size_t took = in_part - stream.avail_in;
    const std::size_t gave = out_part - stream.avail_out;
    consumed += took;
    written += gave;
    if (result != Z_OK || (took == 0 && gave == 0)) return result == Z_OK ? Z_BUF_ERROR : result;
  }
}

}  // namespace

Result<std::size_t> decode_zlib(ByteSpan in, MutableByteSpan out) {
  thread_local Inflater inflater;
  if (!inflater.ready) return fail(Error(ErrorCode::Internal, "zlib: no memory"));
  inflateReset(&inflater.stream);
  std::size_t written = 0;
  std::byte spare{};
  const bool empty = out.empty();  // zlib requires a valid output pointer even for no output
  const int result = inflate_all(inflater.stream, in, empty ? MutableByteSpan(&spare, 1) : out, written);
  if (result == Z_STREAM_END && !(empty && written != 0)) return written;
  if (result == Z_BUF_ERROR && written == out.size()) {
    return fail(Error(ErrorCode::FilterFailed, "zlib: stream inflates to more than " +
                                                   std::to_string(out.size()) + " bytes or is cut short"));
  }
  return fail(Error(ErrorCode::FilterFailed, "zlib: stream is damaged"));
}

}  // namespace h5mount::filter

// Deflate (filter 1): the chunk is one zlib stream.
#include "h5mount/base/deflate.h"
#include "codecs.h"

namespace h5mount::filter {

Result<std::size_t> decode_zlib(ByteSpan in, MutableByteSpan out) {
  const Inflated done = inflate_zlib(in, out);
  switch (done.end) {
    case InflateEnd::Whole:
      return done.made;
    case InflateEnd::TooLarge:
      return fail(Error(ErrorCode::FilterFailed,
                        "zlib: stream inflates to more than " + std::to_string(out.size()) + " bytes"));
    case InflateEnd::NoMemory:
      return fail(Error(ErrorCode::Internal, "zlib: no memory"));
    case InflateEnd::Damaged:
      break;
  }
  return fail(Error(ErrorCode::FilterFailed, "zlib: stream is damaged"));
}

}  // namespace h5mount::filter

// Bzip2 (filter 307): the chunk is one bzip2 stream, which carries its own checksums. Client data: the block
// size.
#include "codecs.h"
#include "filters.h"

#if H5MOUNT_HAVE_BZIP2
#include <bzlib.h>

#include <algorithm>
#include <limits>

namespace h5mount::filter {

Result<std::size_t> decode_bzip2(ByteSpan in, MutableByteSpan out) {
  constexpr std::size_t kMaxInput = std::numeric_limits<unsigned>::max();
  if (in.size() > kMaxInput) return failed("bzip2", "the stream is too large");
  auto size = static_cast<unsigned>(std::min(out.size(), kMaxInput));
  // libbz2's interface is not const; the input is not written to.
  auto* from = reinterpret_cast<char*>(const_cast<std::byte*>(in.data()));
  switch (BZ2_bzBuffToBuffDecompress(reinterpret_cast<char*>(out.data()), &size, from,
                                     static_cast<unsigned>(in.size()), 0, 0)) {
    case BZ_OK:
      return size;
    case BZ_OUTBUFF_FULL:
      return failed("bzip2", "the stream gives more bytes than the chunk has");
    case BZ_UNEXPECTED_EOF:
      return failed("bzip2", "the stream is cut short");
    case BZ_MEM_ERROR:
      return fail(Error(ErrorCode::Internal, "bzip2: no memory"));
    default:
      return failed("bzip2", "the stream is damaged");
  }
}

}  // namespace h5mount::filter
#endif

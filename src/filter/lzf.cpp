// LZF (filter 32000): a bare LZF stream of
//
//   000lllll                        l + 1 literal bytes follow
//   lllddddd dddddddd               a match: l + 2 bytes from d + 1 back (l = 1 … 6)
//   111ddddd llllllll dddddddd      a match: l + 9 bytes from d + 1 back
//
// Client data: filter version, LZF version, chunk bytes; none of it is needed.
#include "codecs.h"
#include "filters.h"
#include "match_copy.h"

namespace h5mount::filter {

Result<std::size_t> decode_lzf(ByteSpan in, MutableByteSpan out) {
  const std::byte* from = in.data();
  const std::byte* const from_end = from + in.size();
  std::byte* to = out.data();
  std::byte* const to_end = to + out.size();
  while (from != from_end) {
    const std::size_t control = std::to_integer<std::size_t>(*from++);
    if (control < 32) {
      const std::size_t length = control + 1;
      if (length > static_cast<std::size_t>(from_end - from)) return failed("lzf", "literals are cut short");
      if (length > static_cast<std::size_t>(to_end - to))
        return failed("lzf", "more bytes than the chunk has");
      copy_literals(from, from_end, to, to_end, length);
      from += length;
      to += length;
      continue;
    }
    std::size_t length = (control >> 5) + 2;
    if (from == from_end) return failed("lzf", "a match is cut short");
    if (length == 9) length += std::to_integer<std::size_t>(*from++);
    if (from == from_end) return failed("lzf", "a match is cut short");
    const std::size_t distance = ((control & 31) << 8 | std::to_integer<std::size_t>(*from++)) + 1;
    if (distance > static_cast<std::size_t>(to - out.data()))
      return failed("lzf", "a match before the beginning");
    if (length > static_cast<std::size_t>(to_end - to)) return failed("lzf", "more bytes than the chunk has");
    copy_match(to, to_end, distance, length);
    to += length;
  }
  return static_cast<std::size_t>(to - out.data());
}

}  // namespace h5mount::filter

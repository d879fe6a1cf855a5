// BloscLZ, Blosc's own codec. The first byte is taken modulo 32, so a stream begins with literals:
//
//   000lllll                        l + 1 literal bytes follow
//   lllddddd kkkkkkkk               a match: l + 2 bytes; distance = (d << 8) + k + 1
//   111ddddd 255* n kkkkkkkk        the same with 255s and n added to the length
//   … d = 31 and k = 255            two more bytes w, big-endian: distance = w + 8192
#include "codecs.h"
#include "filters.h"
#include "match_copy.h"

namespace h5mount::filter {
namespace {

constexpr std::size_t kFarDistance = 8191;

// The length and distance of a match. `from` points after the match's control byte.
struct Match {
  std::size_t length = 0;
  std::size_t distance = 0;
};

bool read_match(std::size_t control, const std::byte*& from, const std::byte* end, Match& match) {
  match.length = (control >> 5) - 1;
  if (match.length == 6) {
    std::size_t more = 255;
    while (more == 255) {
      if (from == end) return false;
      more = std::to_integer<std::size_t>(*from++);
      match.length += more;
    }
  }
  match.length += 3;
  if (from == end) return false;
  const std::size_t low = std::to_integer<std::size_t>(*from++);
  match.distance = ((control & 31) << 8) + low + 1;
  if (low == 255 && (control & 31) == 31) {
    if (end - from < 2) return false;
    match.distance = load_be<std::uint16_t>(from) + kFarDistance + 1;
    from += 2;
  }
  return true;
}

}  // namespace

Result<std::size_t> decode_blosclz(ByteSpan in, MutableByteSpan out) {
  const std::byte* from = in.data();
  const std::byte* const from_end = from + in.size();
  std::byte* to = out.data();
  std::byte* const to_end = to + out.size();
  std::size_t mask = 31;
  while (from != from_end) {
    const std::size_t control = std::to_integer<std::size_t>(*from++) & mask;
    mask = 255;
    if (control < 32) {
      const std::size_t length = control + 1;
      if (length > static_cast<std::size_t>(from_end - from))
        return failed("blosclz", "literals are cut short");
      if (length > static_cast<std::size_t>(to_end - to))
        return failed("blosclz", "more bytes than declared");
      copy_literals(from, from_end, to, to_end, length);
      from += length;
      to += length;
      continue;
    }
    Match match;
    if (!read_match(control, from, from_end, match)) return failed("blosclz", "a match is cut short");
    if (match.distance > static_cast<std::size_t>(to - out.data())) {
      return failed("blosclz", "a match before the beginning");
    }
    if (match.length > static_cast<std::size_t>(to_end - to))
      return failed("blosclz", "more bytes than declared");
    copy_match(to, to_end, match.distance, match.length);
    to += match.length;
  }
  return static_cast<std::size_t>(to - out.data());
}

}  // namespace h5mount::filter

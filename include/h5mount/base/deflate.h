// Streams of deflate (RFC 1951), each whole in memory, in the frames of zlib (RFC 1950, checked by Adler-32)
// and of gzip (RFC 1952, checked by CRC-32). What is behind a stream's end is ignored.
//
// The one place that knows which library does it: libdeflate, which decodes whole buffers two to three times
// as fast as zlib, or zlib in a build without it (option `libdeflate`). Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "h5mount/base/bytes.h"

namespace h5mount {

std::string_view deflate_library();  // its name

enum class InflateEnd : std::uint8_t {
  Whole,     // the stream ended, and its checksum is right
  Damaged,   // it is none
  TooLarge,  // it has more bytes than there is room for; of one that is cut off this or Damaged
  NoMemory,
};
struct Inflated {
  InflateEnd end = InflateEnd::Damaged;
  std::size_t used = 0, made = 0;  // of a whole stream: its bytes, and those that were decoded
};
Inflated inflate_zlib(ByteSpan in, MutableByteSpan out);

// A stream of zlib. Nothing where there is no memory, or 4 GiB and more.
std::optional<std::string> to_zlib(ByteSpan bytes);
// One member of gzip, of less than 4 GiB of text, quickly rather than small. Nothing where there is no
// memory.
std::optional<std::string> to_gzip(std::string_view text);
// The text of what `to_gzip`, or gzip(1), made: trusted, as its end says how much memory is needed.
std::optional<std::string> from_gzip(std::string_view member);

}  // namespace h5mount

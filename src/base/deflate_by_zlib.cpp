#define ZLIB_CONST  // what is read is const
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "h5mount/base/deflate.h"

namespace h5mount {
namespace {

constexpr int kWindowBits = 15, kGzipFrame = 16, kMemoryLevel = 8;  // zlib's own defaults

// zlib counts in 32 bits: longer buffers are given to it in parts.
uInt part_of(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
}

const Bytef* input(const std::byte* at) {
  return reinterpret_cast<const Bytef*>(at);
}

// The state of decoding, about 7 KiB; 32 KiB more where a stream is given in parts. One per thread and frame,
// created at first use.
class Inflater {
 public:
  explicit Inflater(int window_bits) : usable_(inflateInit2(&stream_, window_bits) == Z_OK) {}
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (usable_) inflateEnd(&stream_);
  }

  Inflated run(ByteSpan in, MutableByteSpan out) {
    if (!usable_ || inflateReset(&stream_) != Z_OK) return {InflateEnd::NoMemory};
    std::byte none{};
    Inflated done;
    for (;;) {
      const uInt given = part_of(in.size() - done.used), room = part_of(out.size() - done.made);
      stream_.next_in = input(in.data() + done.used);
      stream_.avail_in = given;
      stream_.next_out = reinterpret_cast<Bytef*>(out.empty() ? &none : out.data() + done.made);
      stream_.avail_out = room;
      const bool all = done.used + given == in.size() && done.made + room == out.size();
      const int result = inflate(&stream_, all ? Z_FINISH : Z_NO_FLUSH);
      done.used += given - stream_.avail_in;
      done.made += room - stream_.avail_out;
      if (result == Z_STREAM_END) {
        done.end = InflateEnd::Whole;
        return done;
      }
      if (result == Z_MEM_ERROR) return {InflateEnd::NoMemory};
      const bool goes_on = result == Z_OK && !all;
      // Input that is left over would become more output.
      const bool full =
          (result == Z_OK || result == Z_BUF_ERROR) && done.made == out.size() && done.used < in.size();
      if (!goes_on) return {full ? InflateEnd::TooLarge : InflateEnd::Damaged};
    }
  }

 private:
  z_stream stream_{};
  bool usable_;
};

}  // namespace

std::string_view deflate_library() {
  return "zlib";
}

Inflated inflate_zlib(ByteSpan in, MutableByteSpan out) {
  static thread_local Inflater inflater(kWindowBits);
  return inflater.run(in, out);
}

namespace {

std::optional<std::string> compressed(ByteSpan bytes, int level, int window_bits) {
  z_stream stream{};
  if (bytes.size() > std::numeric_limits<std::uint32_t>::max() ||
      deflateInit2(&stream, level, Z_DEFLATED, window_bits, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK)
    return std::nullopt;
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = input(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = part_of(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return result == Z_STREAM_END ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

std::optional<std::string> to_zlib(ByteSpan bytes) {
  return compressed(bytes, Z_DEFAULT_COMPRESSION, kWindowBits);
}

std::optional<std::string> to_gzip(std::string_view text) {
  constexpr int kLevel = 4;
  return compressed(as_bytes(text), kLevel, kWindowBits + kGzipFrame);
}

std::optional<std::string> from_gzip(std::string_view member) {
  if (member.size() < sizeof(std::uint32_t)) return std::nullopt;
  std::string out(load_le<std::uint32_t>(as_bytes(member).last(sizeof(std::uint32_t)).data()), '\0');
  const auto room = MutableByteSpan(reinterpret_cast<std::byte*>(out.data()), out.size());
  const Inflated done = Inflater(kWindowBits + kGzipFrame).run(as_bytes(member), room);
  return done.end == InflateEnd::Whole ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace h5mount

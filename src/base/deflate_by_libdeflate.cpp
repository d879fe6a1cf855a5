#include <libdeflate.h>

#include <limits>
#include <memory>

#include "h5mount/base/deflate.h"

namespace h5mount {
namespace {

using Decompressor = std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)>;
using Compressor = std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)>;

// A decompressor has about 10 KiB of tables and is not thread safe: one per thread, created at first use.
libdeflate_decompressor* decompressor() {
  static thread_local const Decompressor own(libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  return own.get();
}

}  // namespace

std::string_view deflate_library() {
  return "libdeflate";
}

Inflated inflate_zlib(ByteSpan in, MutableByteSpan out) {
  if (decompressor() == nullptr) return {InflateEnd::NoMemory};
  Inflated done;
  switch (libdeflate_zlib_decompress_ex(decompressor(), in.data(), in.size(), out.data(), out.size(),
                                        &done.used, &done.made)) {
    case LIBDEFLATE_SUCCESS:
      done.end = InflateEnd::Whole;
      return done;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
      return {InflateEnd::TooLarge};
    default:
      return {InflateEnd::Damaged};
  }
}

namespace {

template <class Bound, class Compress>
std::optional<std::string> compressed(std::string_view bytes, int level, Bound bound, Compress compress) {
  const Compressor compressor(libdeflate_alloc_compressor(level), libdeflate_free_compressor);
  if (!compressor || bytes.size() > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  std::string out(bound(compressor.get(), bytes.size()), '\0');
  out.resize(compress(compressor.get(), bytes.data(), bytes.size(), out.data(), out.size()));
  return out.empty() ? std::nullopt : std::optional(std::move(out));
}

}  // namespace

std::optional<std::string> to_zlib(ByteSpan bytes) {
  constexpr int kLevel = 6;
  return compressed(as_text(bytes), kLevel, libdeflate_zlib_compress_bound, libdeflate_zlib_compress);
}

std::optional<std::string> to_gzip(std::string_view text) {
  constexpr int kLevel = 4;
  return compressed(text, kLevel, libdeflate_gzip_compress_bound, libdeflate_gzip_compress);
}

std::optional<std::string> from_gzip(std::string_view member) {
  if (member.size() < sizeof(std::uint32_t) || decompressor() == nullptr) return std::nullopt;
  std::string out(load_le<std::uint32_t>(as_bytes(member).last(sizeof(std::uint32_t)).data()), '\0');
  const auto done = libdeflate_gzip_decompress(decompressor(), member.data(), member.size(), out.data(),
                                               out.size(), nullptr);
  return done == LIBDEFLATE_SUCCESS ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace h5mount

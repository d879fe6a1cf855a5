// Private to the module: the codecs that are filters by themselves, or that several filters and containers
// share. Each decodes `in` to the front of `out`, returns the bytes written, and stays within both spans. Of
// the codecs of containers those whose library is missing in this build return UnsupportedFeature; the others
// are not defined then.
#pragma once

#include <cstdint>
#include <span>

#include "h5mount/base/bytes.h"
#include "h5mount/base/error.h"

namespace h5mount::filter {

// One zlib stream (RFC 1950). Bytes after its end are ignored, as libhdf5 does.
Result<std::size_t> decode_zlib(ByteSpan in, MutableByteSpan out);

// One bare LZ4 block; `dictionary` is a prefix that matches may refer to, or empty.
Result<std::size_t> decode_lz4(ByteSpan in, MutableByteSpan out, ByteSpan dictionary = {});

// Zstandard frames; `dictionary` is raw content or a trained dictionary, or empty.
Result<std::size_t> decode_zstd(ByteSpan in, MutableByteSpan out, ByteSpan dictionary = {});

// A bare zfp stream of a row-major array of floats, or of doubles, that fills `out`; 1 to 4 dimensions.
// `parameter` depends on the mode: bits per value, bit planes, or the absolute error.
enum class ZfpMode : std::uint8_t { Rate, Precision, Accuracy };
Result<std::size_t> decode_zfp(ZfpMode mode, double parameter, std::span<const std::uint64_t> shape,
                               ByteSpan in, MutableByteSpan out);

Result<std::size_t> decode_snappy(ByteSpan in, MutableByteSpan out);
Result<std::size_t> decode_bzip2(ByteSpan in, MutableByteSpan out);
Result<std::size_t> decode_jpeg_ls(ByteSpan in, MutableByteSpan out);

// BloscLZ (blosclz.cpp) and LZF (lzf.cpp): implemented here.
Result<std::size_t> decode_blosclz(ByteSpan in, MutableByteSpan out);
Result<std::size_t> decode_lzf(ByteSpan in, MutableByteSpan out);

}  // namespace h5mount::filter

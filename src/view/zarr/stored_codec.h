// Zarr codecs that mean the same as HDF5 filters, so that a chunk's stored bytes can be given as they are;
// and frames of these codecs around bytes that are not compressed, for chunks that a filter was not applied
// to: their sizes follow from those of the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "h5mount/object/object.h"

namespace h5mount::view {

enum class StoredCompressor : std::uint8_t { None, Zlib, Blosc, Zstd, Lz4 };

struct StoredCodec {
  StoredCompressor compressor = StoredCompressor::None;
  std::uint64_t shuffle = 0;  // bytes of the elements that are shuffled before; 0: none are
  bool fletcher32 = false;    // four bytes behind the compressed ones
  std::uint64_t item_bytes = 1;

  std::string compressor_json() const;
  std::string filters_json() const;
};

// Nothing where the dataset is not chunked, or its filters, in their order, have no such codec.
std::optional<StoredCodec> stored_codec(const object::DatasetDescription& dataset);

// The same, and the dataset's elements are given as they are stored (ZarrType).
std::optional<StoredCodec> zarr_codec(const object::DatasetDescription& dataset);

// The size of a frame around so many bytes, and what stands before, between and behind them: appends a frame
// of `bytes` to `out`. LimitExceeded where the codec cannot hold so many.
Result<std::uint64_t> frame_size(StoredCompressor compressor, std::uint64_t bytes);
Status append_frame(StoredCompressor compressor, std::uint64_t item_bytes, ByteSpan bytes, std::string& out);

// The bytes of each element at one place together, as HDF5 and numcodecs order them; what is no whole element
// stays behind them.
void shuffle_bytes(ByteSpan in, std::uint64_t item_bytes, MutableByteSpan out);

}  // namespace h5mount::view

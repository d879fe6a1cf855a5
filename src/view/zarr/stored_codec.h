// Zarr codecs that are equivalent to HDF5 filters, so that a chunk's stored bytes are served unchanged; and
// frames of these codecs around uncompressed bytes, for chunks to which a filter was not applied: the size of
// a frame follows from that of the bytes. Only bzip2 has no such frames, so its frames are compressed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "h5mount/dataset/stored_chunks.h"
#include "h5mount/object/object.h"
#include "h5mount/view/zarr.h"

namespace h5mount::view {

enum class StoredCompressor : std::uint8_t { None, Zlib, Blosc, Zstd, Lz4, Bzip2 };

struct StoredCodec {
  StoredCompressor compressor = StoredCompressor::None;
  std::uint64_t shuffle = 0;  // bytes of an element, if these were shuffled first; 0: no shuffle
  bool fletcher32 = false;    // a checksum of four bytes follows the compressed ones
  std::uint64_t item_bytes = 1;

  std::string compressor_json() const;
  std::string filters_json() const;
  // The codecs of version 3 that follow `bytes`, each after a comma.
  std::string version3_json() const;
};

// Returns nullopt if the dataset is not chunked, or if there is no such codec for its filters in their order.
// So it is for a shuffle by another size than the elements'.
std::optional<StoredCodec> stored_codec(const object::DatasetDescription& dataset);

// The same; nullopt also if the dataset's elements are not served as stored (ZarrType), or shuffled by
// another size than that of Zarr's elements, by which zarrita.js takes every shuffle to be. `encoding`: one
// of stored chunks.
std::optional<StoredCodec> zarr_codec(const object::DatasetDescription& dataset, ZarrEncoding encoding);

// The part of a stored chunk that is the chunk of an array with this codec, whose elements take `bytes`; what
// `head` has stands before it. nullopt: the chunk was never written, or not all filters were applied to it.
struct StoredPart {
  std::string head;
  ByteRange range;
};
std::optional<StoredPart> stored_part(const StoredCodec& codec, const dataset::StoredChunks::Stored& stored,
                                      std::uint64_t bytes);

// The size of a frame around `bytes` bytes (for bzip2 the largest possible), and the function that appends a
// frame of `bytes` to `out`. Both fail with LimitExceeded if the codec cannot hold so many bytes.
Result<std::uint64_t> frame_size(StoredCompressor compressor, std::uint64_t bytes);
Status append_frame(StoredCompressor compressor, std::uint64_t item_bytes, ByteSpan bytes, std::string& out);

// The same, compressed: by the library of the codec where the build has it.
Status append_compressed(StoredCompressor compressor, std::uint64_t item_bytes, ByteSpan bytes,
                         std::string& out);

// Groups the k-th bytes of all items, for each k, as HDF5 and numcodecs order them; bytes after the last
// whole item stay at the end.
void shuffle_bytes(std::uint64_t item_bytes, std::vector<std::byte>& bytes);

}  // namespace h5mount::view

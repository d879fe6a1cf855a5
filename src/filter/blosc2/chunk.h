// One Blosc chunk, of Blosc 1 or 2, for decoding as a whole or by blocks.
//
//   header (chunk_header.h) | offset of each block, i32 | dictionary, if any: size, i32; bytes | blocks
//   block:  one stream, or one for each byte of the type if the block is split
//   stream: size, i32 | data
//   size:   the decoded size if data is not compressed; 0: all bytes are zero; negative: a token byte
//           follows, and all decoded bytes are -size
//
// Refers to the given bytes, which must outlive it; cheap to construct. Threads: const functions from any
// thread.
#pragma once

#include "chunk_header.h"
#include "nd_copy.h"

namespace h5mount::filter::blosc {

class Chunk {
 public:
  static Result<Chunk> open(ByteSpan bytes);
  // A special chunk, which a frame records in its offsets without storing it.
  static Chunk make_special(Special special, std::size_t typesize, std::size_t nbytes);

  // For a chunk of an array: sets the shape of its blocks, which some filters and codecs need. `shape` must
  // outlive the chunk.
  void set_block_shape(Extents shape) { block_shape_ = shape; }

  std::size_t nbytes() const { return header_.nbytes; }
  std::size_t blocksize() const { return header_.blocksize; }
  // Whether the chunk is special or stored uncompressed, so that any range can be read without decoding
  // blocks.
  bool is_plain() const { return header_.stored || header_.special != Special::None; }
  bool uses_delta() const { return !is_plain() && header_.uses_delta(); }

  // Reads the bytes [offset, offset + out.size()) of a plain chunk. Precondition: they lie inside the chunk.
  Status read_plain(std::size_t offset, MutableByteSpan out) const;

  // Decodes block `index` of a chunk that has blocks into `out`, which has exactly the block's size.
  // `reference` is the decoded block 0, which the other blocks need if uses_delta().
  Status decode_block(std::size_t index, MutableByteSpan out, ByteSpan reference) const;
  std::size_t block_bytes(std::size_t index) const;

  // Decodes the whole chunk. Precondition: out.size() is nbytes().
  Status decode(MutableByteSpan out) const;

 private:
  Result<ByteSpan> find_dictionary() const;
  std::size_t stream_count(std::size_t block_bytes) const;
  Status decode_streams(ByteSpan in, MutableByteSpan out) const;
  Status decode_stream(ByteSpan& in, MutableByteSpan out) const;
  Result<std::size_t> run_codec(ByteSpan in, MutableByteSpan out) const;
  Result<std::size_t> run_plugin_codec(ByteSpan in, MutableByteSpan out) const;

  ChunkHeader header_;
  ByteSpan bytes_;  // the chunk's cbytes bytes
  ByteSpan dictionary_;
  Extents block_shape_;
  std::size_t blocks_ = 0;
  std::size_t data_at_ = 0;  // the earliest offset of a block's streams
};

}  // namespace h5mount::filter::blosc

// A contiguous Blosc 2 frame:
//
//   header       msgpack array of 14: "b2frame\0", header length, frame length, 4 flag bytes, decoded bytes,
//                bytes of the chunks section, typesize, blocksize, chunksize, two numbers of threads,
//                whether there are variable-length metalayers, the filters (extension), metalayers
//   metalayers   array of 3: size of the index, map of name to offset from the frame's start, contents
//   chunks       inner chunks (chunk.h)
//   offsets      a chunk of one i64 for each inner chunk: its offset from the END OF THE HEADER (the
//                published description wrongly says from the frame's start); negative: a special value,
//                nothing stored
//   trailer      msgpack array of 4: version, variable-length metalayers, trailer's length, fingerprint
//
// Refers to the given bytes, which must outlive it. Threads: const functions from any thread.
#pragma once

#include <memory>
#include <optional>

#include "block_reader.h"
#include "chunk.h"

namespace h5mount::filter::blosc {

class Frame {
 public:
  // `limit` is the number of decoded bytes that the caller accepts; it bounds intermediate allocations.
  static Result<Frame> open(ByteSpan bytes, std::uint64_t limit);

  std::size_t typesize() const { return typesize_; }
  std::uint64_t nbytes() const { return nbytes_; }  // of all inner chunks
  std::uint64_t chunksize() const { return chunksize_; }
  std::uint64_t chunk_count() const { return chunk_count_; }
  std::uint64_t chunk_bytes(std::uint64_t index) const;

  // The content of a metalayer; nullopt if there is none of that name.
  Result<std::optional<ByteSpan>> find_metalayer(std::string_view name) const;
  Result<Chunk> chunk(std::uint64_t index) const;

 private:
  friend class InnerChunks;
  Result<Chunk> open_offsets() const;
  Result<Chunk> chunk_at(std::uint64_t index, std::int64_t offset) const;

  ByteSpan bytes_;  // the whole frame
  ByteSpan header_;
  std::size_t metalayers_at_ = 0;
  std::size_t typesize_ = 0;
  std::uint64_t nbytes_ = 0;
  std::uint64_t stored_ = 0;  // bytes of the chunks section
  std::uint64_t chunksize_ = 0;
  std::uint64_t chunk_count_ = 0;
  std::uint64_t limit_ = 0;
};

// Reads the inner chunks of a frame in order; each block of their offsets is decoded once. The frame must
// outlive it. Threads: one at a time.
class InnerChunks {
 public:
  static Result<std::unique_ptr<InnerChunks>> open(const Frame& frame);
  Result<Chunk> chunk(std::uint64_t index);

 private:
  InnerChunks(const Frame& frame, const Chunk& offsets)
      : frame_(frame), offsets_(offsets), reader_(offsets_) {}

  const Frame& frame_;
  Chunk offsets_;
  BlockReader reader_;
};

}  // namespace h5mount::filter::blosc

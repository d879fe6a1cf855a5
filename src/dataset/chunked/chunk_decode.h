// ChunkDecode: one thread's work on chunks of one source, in two stages: their stored bytes are fetched,
// which waits for the source, and decoded, which takes memory and a processor.
//
// For a local file both have one place (Admission::decodes), taken when the work begins: reads are short, and
// the bytes are read into the memory where they are decoded from. Of a far one each stage has its own: bytes
// are fetched with a place of Admission::fetches; the place for decoding is taken when they have come, and is
// given back before others are waited for. So as many requests are in flight as there are places for them,
// while decodes are as many as memory and processors allow. Threads: one.
#pragma once

#include <optional>

#include "admission.h"

namespace h5mount::dataset {

class ChunkDecode {
 public:
  // `memory`: what the largest decode needs.
  ChunkDecode(const io::ByteSource& source, const DecodeMemory& memory);

  // Reads stored bytes, which stay valid until the next fetch.
  Result<ByteSpan> fetch(std::uint64_t address, std::size_t bytes);
  // The same for bytes that need no decoding, into `out`.
  Status fetch_into(std::uint64_t address, MutableByteSpan out);

  // Memory for decoded bytes, valid until the next call.
  MutableByteSpan plain(std::size_t bytes);
  // Memory for the filters. To be used after the fetch of the bytes to decode.
  filter::FilterScratch& filters() { return place()->filters; }

 private:
  Admission::Lease& place();

  const io::ByteSource& source_;
  const DecodeMemory memory_;
  const bool far_;
  std::optional<Admission::Lease> fetched_, decoding_;
  ScratchBuffer plain_;  // only if the source is far, as `decoding_` comes and goes then
};

}  // namespace h5mount::dataset

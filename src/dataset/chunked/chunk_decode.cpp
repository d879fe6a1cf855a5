#include "chunk_decode.h"

namespace h5mount::dataset {

ChunkDecode::ChunkDecode(const io::ByteSource& source, const DecodeMemory& memory)
    : source_(source), memory_(memory), far_(source.far()) {
  if (!far_) decoding_.emplace(Admission::decodes(), memory_);
}

Admission::Lease& ChunkDecode::place() {
  if (!decoding_) decoding_.emplace(Admission::decodes(), memory_);
  return *decoding_;
}

Result<ByteSpan> ChunkDecode::fetch(std::uint64_t address, std::size_t bytes) {
  if (far_) {
    decoding_.reset();
    fetched_.reset();
    fetched_.emplace(Admission::fetches(), DecodeMemory{bytes, Admission::kFetchBytes, memory_.owner});
  }
  Admission::Lease& lease = far_ ? *fetched_ : *decoding_;
  const MutableByteSpan stored = lease->stored(bytes);
  H5_TRY(lease->read(source_, address, stored));
  if (far_) (void)place();
  return ByteSpan(stored);
}

Status ChunkDecode::fetch_into(std::uint64_t address, MutableByteSpan out) {
  if (!far_) return (*decoding_)->read(source_, address, out);
  decoding_.reset();
  fetched_.reset();
  fetched_.emplace(Admission::fetches(), DecodeMemory{out.size(), Admission::kFetchBytes, memory_.owner});
  Status done = (*fetched_)->read(source_, address, out);
  fetched_.reset();
  return done;
}

MutableByteSpan ChunkDecode::plain(std::size_t bytes) {
  return far_ ? plain_.grown(bytes) : (*decoding_)->plain(bytes);
}

}  // namespace h5mount::dataset

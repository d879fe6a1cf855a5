#include "block_reader.h"

#include <algorithm>

namespace h5mount::filter::blosc {

BlockReader::BlockReader(const Chunk& chunk)
    : chunk_(chunk),
      block_(chunk.is_plain() ? 0 : chunk.block_bytes(0)),
      zero_(chunk.uses_delta() ? chunk.block_bytes(0) : 0) {}

Status BlockReader::read(std::size_t offset, MutableByteSpan out) {
  if (chunk_.is_plain()) return chunk_.read_plain(offset, out);
  while (!out.empty()) {
    const std::size_t index = offset / chunk_.blocksize();
    const std::size_t inside = offset % chunk_.blocksize();
    const std::size_t bytes = chunk_.block_bytes(index);
    const std::size_t here = std::min(bytes - inside, out.size());
    if (here == bytes && index != loaded_) {
      H5_TRY(load_into(index, out.first(bytes)));
    } else {
      H5_ASSIGN(const ByteSpan block, load(index));
      std::memcpy(out.data(), block.data() + inside, here);
    }
    out = out.subspan(here);
    offset += here;
  }
  return {};
}

Result<ByteSpan> BlockReader::load(std::size_t index) {
  const MutableByteSpan block = block_.bytes().first(chunk_.block_bytes(index));
  if (index == loaded_) return block;
  loaded_ = kNone;
  H5_TRY(load_into(index, block));
  loaded_ = index;
  return block;
}

Status BlockReader::load_into(std::size_t index, MutableByteSpan out) {
  H5_ASSIGN(const ByteSpan reference, reference_for(index));
  return chunk_.decode_block(index, out, reference);
}

Result<ByteSpan> BlockReader::reference_for(std::size_t index) {
  if (index == 0 || !chunk_.uses_delta()) return ByteSpan{};
  if (!zero_loaded_) H5_TRY(chunk_.decode_block(0, zero_.bytes(), {}));
  zero_loaded_ = true;
  return zero_.bytes();
}

}  // namespace h5mount::filter::blosc

// Blosc 1 (filter 32001): the stored chunk is one Blosc chunk (blosc2/chunk.h). The client data repeat its
// header and are not used.
#include "blosc2/chunk.h"
#include "blosc2/flat_chunk.h"
#include "filters.h"

namespace h5mount::filter {
namespace {

class Blosc1 final : public Filter {
 public:
  Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const override {
    H5_ASSIGN(const blosc::Chunk chunk, blosc::Chunk::open(in));
    if (chunk.nbytes() > out.size()) return failed("blosc", "more bytes declared than the chunk has");
    H5_TRY(chunk.decode(out.first(chunk.nbytes())));
    return chunk.nbytes();
  }

  bool may_decode_partially() const override { return true; }
  Result<std::unique_ptr<PartialChunk>> open_partial(ByteSpan in, std::size_t decoded_bytes) const override {
    H5_ASSIGN(const blosc::Chunk chunk, blosc::Chunk::open(in));
    return blosc::make_flat_chunk(chunk, decoded_bytes);
  }
};

}  // namespace

Result<FilterPtr> make_blosc1(const FilterSpec&, std::size_t) {
  return std::make_shared<Blosc1>();
}

}  // namespace h5mount::filter

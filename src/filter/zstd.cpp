// Zstandard (filter 32015): the chunk is one zstd frame. The client data is the writer's level.
#include "codecs.h"
#include "filters.h"

namespace h5mount::filter {
namespace {

class Zstd final : public Filter {
 public:
  Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const override { return decode_zstd(in, out); }
};

}  // namespace

Result<FilterPtr> make_zstd(const FilterSpec&, std::size_t) {
  return std::make_shared<Zstd>();
}

}  // namespace h5mount::filter

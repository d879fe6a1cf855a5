// Deflate (filter 1): the chunk is one zlib stream. The client data is the writer's compression level and is
// not used.
#include "codecs.h"
#include "filters.h"

namespace h5mount::filter {
namespace {

class Deflate final : public Filter {
 public:
  Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const override { return decode_zlib(in, out); }
};

}  // namespace

Result<FilterPtr> make_deflate(const FilterSpec&, std::size_t) {
  return std::make_shared<Deflate>();
}

}  // namespace h5mount::filter

// Shuffle (filter 2): the elements' bytes are sorted by significance; see unshuffle.h. Client data: the
// element size.
#include "filters.h"
#include "unshuffle.h"

namespace h5mount::filter {
namespace {

class Shuffle final : public Filter {
 public:
  explicit Shuffle(std::size_t element_size) : element_size_(element_size) {}

  Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const override {
    if (in.size() > out.size()) return failed("shuffle", "more bytes stored than the chunk has");
    unshuffle_buffer(in, element_size_, out);
    return in.size();
  }
  std::size_t encoded_bound(std::size_t decoded) const override { return decoded; }

 private:
  std::size_t element_size_;
};

}  // namespace

Result<FilterPtr> make_shuffle(const FilterSpec& spec, std::size_t) {
  if (spec.client_data.empty()) return bad_client_data("shuffle", "the element size is missing");
  if (spec.client_data[0] == 0) return bad_client_data("shuffle", "the element size is 0");
  return std::make_shared<Shuffle>(spec.client_data[0]);
}

}  // namespace h5mount::filter

// JPEG-LS (filter 32018, FCIDECOMP): the chunk is one JPEG-LS stream, which describes itself; the client data
// repeat it. Samples of 9 to 16 bits are decoded to two bytes, in the machine's order.
#include <charls/charls.h>

#include "filters.h"

namespace h5mount::filter {
namespace {

struct DestroyDecoder {
  void operator()(charls_jpegls_decoder* decoder) const { charls_jpegls_decoder_destroy(decoder); }
};

std::unexpected<Error> refused(charls_jpegls_errc code) {
  return failed("jpeg-ls", charls_get_error_message(code));
}

class JpegLs final : public Filter {
 public:
  Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const override {
    using charls::jpegls_errc;
    const std::unique_ptr<charls_jpegls_decoder, DestroyDecoder> decoder(charls_jpegls_decoder_create());
    if (!decoder) return fail(Error(ErrorCode::Internal, "jpeg-ls: no memory"));
    auto code = charls_jpegls_decoder_set_source_buffer(decoder.get(), in.data(), in.size());
    if (code != jpegls_errc::success) return refused(code);
    code = charls_jpegls_decoder_read_header(decoder.get());
    if (code != jpegls_errc::success) return refused(code);
    std::size_t size = 0;
    code = charls_jpegls_decoder_get_destination_size(decoder.get(), 0, &size);
    if (code != jpegls_errc::success) return refused(code);
    if (size > out.size()) return failed("jpeg-ls", "the picture has more bytes than the chunk");
    code = charls_jpegls_decoder_decode_to_buffer(decoder.get(), out.data(), size, 0);
    if (code != jpegls_errc::success) return refused(code);
    return size;
  }
};

}  // namespace

Result<FilterPtr> make_jpeg_ls(const FilterSpec&, std::size_t) { return std::make_shared<JpegLs>(); }

}  // namespace h5mount::filter

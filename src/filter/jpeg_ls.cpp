// JPEG-LS (filter 32018, FCIDECOMP): the chunk is one JPEG-LS stream, whose header has all parameters; the
// client data repeat them and are not used. Samples of 9 to 16 bits are decoded to two bytes, in the
// machine's order.
//
// CharLS 2.4.1 does not return from a scan that is truncated at the end of its input, unless an end-of-image
// marker follows; so one is appended to every stream.
#include <charls/charls.h>

#include "filters.h"
#include "temporary.h"

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
    static constexpr std::byte kEndOfImage[] = {std::byte{0xff}, std::byte{0xd9}};
    const Temporary copy(in.size() + sizeof kEndOfImage);
    if (!in.empty()) std::memcpy(copy.bytes().data(), in.data(), in.size());
    std::memcpy(copy.bytes().data() + in.size(), kEndOfImage, sizeof kEndOfImage);
    auto code =
        charls_jpegls_decoder_set_source_buffer(decoder.get(), copy.bytes().data(), copy.bytes().size());
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

Result<FilterPtr> make_jpeg_ls(const FilterSpec&, std::size_t) {
  return std::make_shared<JpegLs>();
}

}  // namespace h5mount::filter

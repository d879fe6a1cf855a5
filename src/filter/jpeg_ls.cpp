// JPEG-LS (filter 32018, FCIDECOMP): the chunk is one JPEG-LS stream, whose header has all parameters; the
// client data repeat them and are not used. Samples of 9 to 16 bits are decoded to two bytes, in the
// machine's order.
//
// CharLS 2.4.1 does not return from a scan that is truncated at the end of its input, unless an end-of-image
// marker follows; so one is appended to every stream.
#include "codecs.h"
#include "filters.h"
#include "temporary.h"

#if H5MOUNT_HAVE_CHARLS
#include <charls/charls.h>

#include <memory>

namespace h5mount::filter {

Result<std::size_t> decode_jpeg_ls(ByteSpan in, MutableByteSpan out) {
  const std::unique_ptr<charls_jpegls_decoder, decltype(&charls_jpegls_decoder_destroy)> decoder(
      charls_jpegls_decoder_create(), charls_jpegls_decoder_destroy);
  if (!decoder) return fail(Error(ErrorCode::Internal, "jpeg-ls: no memory"));
  static constexpr std::byte kEndOfImage[] = {std::byte{0xff}, std::byte{0xd9}};
  const Temporary copy(in.size() + sizeof kEndOfImage);
  if (!in.empty()) std::memcpy(copy.bytes().data(), in.data(), in.size());
  std::memcpy(copy.bytes().data() + in.size(), kEndOfImage, sizeof kEndOfImage);
  std::size_t size = 0;
  auto code =
      charls_jpegls_decoder_set_source_buffer(decoder.get(), copy.bytes().data(), copy.bytes().size());
  if (code == charls::jpegls_errc::success) code = charls_jpegls_decoder_read_header(decoder.get());
  if (code == charls::jpegls_errc::success)
    code = charls_jpegls_decoder_get_destination_size(decoder.get(), 0, &size);
  if (size > out.size()) return failed("jpeg-ls", "the picture has more bytes than the chunk");
  if (code == charls::jpegls_errc::success)
    code = charls_jpegls_decoder_decode_to_buffer(decoder.get(), out.data(), size, 0);
  if (code != charls::jpegls_errc::success) return failed("jpeg-ls", charls_get_error_message(code));
  return size;
}

}  // namespace h5mount::filter
#endif

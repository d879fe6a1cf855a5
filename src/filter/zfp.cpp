// ZFP (filter 32013): the chunk is a zfp stream without header. The header is in the client data, after one
// value of versions: magic, the field's type and shape (without dimensions of 1), the mode. In data of a
// big-endian writer, its words and the decoded values are byte-swapped.
//
// libzfp does not check the end of its input. So the payload is copied into a buffer of the maximum size that
// libzfp can read, and a stream that was read beyond the payload is rejected. The rest of the buffer is never
// written and takes no memory.
#include <algorithm>

#include "codecs.h"
#include "filters.h"
#include "h5mount/base/checked.h"
#include "temporary.h"

#if H5MOUNT_HAVE_ZFP
#include <zfp.h>
#endif

namespace h5mount::filter {

#if H5MOUNT_HAVE_ZFP
namespace {

constexpr std::size_t kHeaderWords = 32;  // words of 4 bytes; a header has at most 148 bits
constexpr std::size_t kSlack = 65'536;    // margin beyond the size of a valid stream
// The largest number of decoded values per value of the field: blocks of 4 x 4 x 4 x 4 values may be mostly
// padding at the field's edges.
constexpr std::size_t kMaxExpansion = 32;
constexpr std::size_t kWordBytes = sizeof(std::uint64_t);  // zfp reads whole words

using HeaderWords = std::array<std::uint32_t, kHeaderWords>;

struct CloseStream {
  void operator()(zfp_stream* stream) const { zfp_stream_close(stream); }
  void operator()(bitstream* bits) const { stream_close(bits); }
  void operator()(zfp_field* field) const { zfp_field_free(field); }
};
using StreamPtr = std::unique_ptr<zfp_stream, CloseStream>;
using BitsPtr = std::unique_ptr<bitstream, CloseStream>;
using FieldPtr = std::unique_ptr<zfp_field, CloseStream>;

// Stream and field as the header describes them.
struct Opened {
  StreamPtr stream;
  FieldPtr field;
};

std::optional<Opened> open_header(HeaderWords words) {
  Opened opened{StreamPtr(zfp_stream_open(nullptr)), FieldPtr(zfp_field_alloc())};
  const BitsPtr bits(stream_open(words.data(), sizeof words));
  if (!opened.stream || !opened.field || !bits) return std::nullopt;
  zfp_stream_set_bit_stream(opened.stream.get(), bits.get());
  if (zfp_read_header(opened.stream.get(), opened.field.get(), ZFP_HEADER_FULL) == 0) return std::nullopt;
  zfp_stream_set_bit_stream(opened.stream.get(), nullptr);
  return opened;
}

std::optional<std::uint64_t> field_bytes(const zfp_field& field) {
  std::uint64_t bytes = zfp_type_size(field.type);
  for (const std::uint64_t extent : {field.nx, field.ny, field.nz, field.nw}) {
    const auto more = checked_mul(bytes, std::max<std::uint64_t>(extent, 1));
    if (!more) return std::nullopt;
    bytes = *more;
  }
  return bytes;
}

// Decodes `in` to `size` bytes of `out`. `stream` and `field` are set up except for their buffers.
Status decompress(zfp_stream* stream, zfp_field* field, std::size_t size, ByteSpan in, MutableByteSpan out) {
  const std::size_t most = zfp_stream_maximum_size(stream, field);
  if (most > kMaxExpansion * size + kSlack) return failed("zfp", "a rate beyond what the values can take");
  const std::size_t padded = (std::max(in.size(), most) + kSlack) / kWordBytes * kWordBytes;
  const Temporary copy(padded);
  if (!in.empty()) std::memcpy(copy.bytes().data(), in.data(), in.size());
  std::memset(copy.bytes().data() + in.size(), 0, std::min(padded - in.size(), kWordBytes));

  const BitsPtr bits(stream_open(copy.bytes().data(), padded));
  if (!bits) return fail(Error(ErrorCode::Internal, "zfp: no memory"));
  zfp_stream_set_bit_stream(stream, bits.get());
  zfp_stream_rewind(stream);
  zfp_field_set_pointer(field, out.data());
  const std::size_t taken = zfp_decompress(stream, field);
  if (taken == 0) return failed("zfp", "the stream cannot be decoded");
  if (taken > (in.size() + kWordBytes - 1) / kWordBytes * kWordBytes)
    return failed("zfp", "the stream is cut short");
  return {};
}

class Zfp final : public Filter {
 public:
  Zfp(const HeaderWords& words, bool swapped, std::size_t size)
      : words_(words), swapped_(swapped), size_(size) {}

  Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const override {
    if (size_ > out.size()) return failed("zfp", "more bytes described than the chunk has");
    const auto opened = open_header(words_);
    if (!opened) return fail(Error(ErrorCode::Internal, "zfp: no memory"));
    H5_TRY(decompress(opened->stream.get(), opened->field.get(), size_, in, out));
    if (swapped_) swap_values(out.first(size_), zfp_type_size(opened->field->type));
    return size_;
  }

 private:
  static void swap_values(MutableByteSpan values, std::size_t size) {
    for (std::size_t at = 0; at + size <= values.size(); at += size) {
      std::reverse(values.data() + at, values.data() + at + size);
    }
  }

  HeaderWords words_;
  bool swapped_;
  std::size_t size_;
};

}  // namespace

Result<std::size_t> decode_zfp(ZfpMode mode, double parameter, std::span<const std::uint64_t> shape,
                               ByteSpan in, MutableByteSpan out) {
  std::uint64_t values = 1;
  for (const std::uint64_t extent : shape) {
    if (extent == 0 || values > out.size() / extent) return failed("zfp", "a shape larger than the block");
    values *= extent;
  }
  const bool doubles = values * sizeof(double) == out.size();
  if (shape.empty() || shape.size() > 4 || (!doubles && values * sizeof(float) != out.size()))
    return failed("zfp", "neither floats nor doubles of one to four dimensions");
  const zfp_type type = doubles ? zfp_type_double : zfp_type_float;
  const StreamPtr stream(zfp_stream_open(nullptr));
  const FieldPtr field(zfp_field_alloc());
  if (!stream || !field) return fail(Error(ErrorCode::Internal, "zfp: no memory"));
  zfp_field_set_type(field.get(), type);
  std::size_t* const extents[] = {&field->nx, &field->ny, &field->nz, &field->nw};
  for (std::size_t d = 0; d < shape.size(); ++d)
    *extents[shape.size() - 1 - d] = static_cast<std::size_t>(shape[d]);
  switch (mode) {
    case ZfpMode::Rate:
      zfp_stream_set_rate(stream.get(), parameter, type, static_cast<uint>(shape.size()), zfp_false);
      break;
    case ZfpMode::Precision:
      zfp_stream_set_precision(stream.get(), static_cast<uint>(parameter));
      break;
    case ZfpMode::Accuracy:
      zfp_stream_set_accuracy(stream.get(), parameter);
      break;
  }
  H5_TRY(decompress(stream.get(), field.get(), out.size(), in, out));
  return out.size();
}

Result<FilterPtr> make_zfp(const FilterSpec& spec, std::size_t chunk_bytes) {
  if (spec.client_data.size() < 2) return bad_client_data("zfp", "the header is missing");
  HeaderWords words{};
  const std::size_t count = std::min(spec.client_data.size() - 1, kHeaderWords - 4);
  std::copy_n(spec.client_data.begin() + 1, count, words.begin());
  bool swapped = false;
  auto opened = open_header(words);
  if (!opened) {
    for (std::uint32_t& word : words) word = __builtin_bswap32(word);
    swapped = true;
    opened = open_header(words);
  }
  if (!opened) {
    return fail(
        Error(ErrorCode::UnsupportedFeature, "zfp: client data hold no header that this libzfp knows"));
  }
  const auto size = field_bytes(*opened->field);
  if (!size || *size > chunk_bytes) return bad_client_data("zfp", "a shape larger than the chunk");
  return std::make_shared<Zfp>(words, swapped, static_cast<std::size_t>(*size));
}
#else
Result<std::size_t> decode_zfp(ZfpMode, double, std::span<const std::uint64_t>, ByteSpan, MutableByteSpan) {
  return not_built_in("zfp", "libzfp");
}
#endif

}  // namespace h5mount::filter

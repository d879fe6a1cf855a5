// Scale-offset (filter 6):
//
//   minbits, u32 | width of minval, u8 | minval | … unused to byte 21 | codes (bit_reader.h)
//
// An element is its code plus minval, modulo the type's size (integers), or its code divided by 10^D plus
// minval (floats); the code of all ones is the fill value, if one is defined. All integers are little-endian,
// decoded elements are in the datatype's own order. Codes as wide as the type are the elements themselves.
// Client data: scale type, scale factor, elements, class, size, sign, order, fill defined, fill value.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "bit_reader.h"
#include "filters.h"
#include "h5mount/base/checked.h"

namespace h5mount::filter {
namespace {

constexpr std::size_t kCodesAt = 21;

enum ScaleType : std::uint32_t { kFloatDecimal = 0, kFloatExponent = 1, kInteger = 2 };

struct Parameters {
  std::uint32_t scale_type = 0;
  std::int32_t scale_factor = 0;
  std::size_t elements = 0;
  std::size_t size = 0;
  bool is_float = false;
  bool big_endian = false;
  bool fill_defined = false;
  std::uint64_t fill_bits = 0;
};

struct Header {
  std::uint32_t minbits = 0;
  std::uint64_t minval = 0;
};

template <class T>
T to_order(T value, bool big_endian) {
  if (!big_endian || sizeof(T) == 1) return value;
  return load_be<T>(reinterpret_cast<const std::byte*>(&value));
}

// T is the unsigned integer of the element's size. `decode_code` converts a code to an element's bits.
template <class T, class Decode>
void decode_codes(const Parameters& p, const Header& header, ByteSpan codes, std::byte* out,
                  Decode decode_code) {
  BitReader reader(codes);
  const std::uint64_t all_ones =
      header.minbits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << header.minbits) - 1;
  const T fill = static_cast<T>(p.fill_bits);
  for (std::size_t i = 0; i < p.elements; ++i, out += sizeof(T)) {
    const std::uint64_t code = reader.read(header.minbits);
    const T value = to_order(p.fill_defined && code == all_ones ? fill : decode_code(code), p.big_endian);
    std::memcpy(out, &value, sizeof value);
  }
}

template <class T>
void decode_integers(const Parameters& p, const Header& header, ByteSpan codes, std::byte* out) {
  const T minval = static_cast<T>(header.minval);
  decode_codes<T>(p, header, codes, out,
                  [minval](std::uint64_t code) { return static_cast<T>(code + minval); });
}

// Decodes in the element's own floating-point type, as libhdf5 does, so that results are bit-identical.
template <class Float, class Bits>
void decode_floats(const Parameters& p, const Header& header, ByteSpan codes, std::byte* out) {
  const Float minval = std::bit_cast<Float>(static_cast<Bits>(header.minval));
  const Float scale = std::pow(Float{10}, static_cast<Float>(p.scale_factor));
  decode_codes<Bits>(p, header, codes, out, [=](std::uint64_t code) {
    const auto number = static_cast<std::make_signed_t<Bits>>(static_cast<Bits>(code));
    return std::bit_cast<Bits>(static_cast<Float>(static_cast<Float>(number) / scale + minval));
  });
}

// Codes as wide as the type are elements in little-endian order, whatever the datatype's order.
void copy_elements(const Parameters& p, ByteSpan in, std::byte* out) {
  std::memcpy(out, in.data(), p.elements * p.size);
  if (!p.big_endian) return;
  for (std::size_t i = 0; i < p.elements; ++i) std::reverse(out + i * p.size, out + (i + 1) * p.size);
}

void decode_elements(const Parameters& p, const Header& header, ByteSpan codes, std::byte* out) {
  switch (p.size) {
    case 1:
      return decode_integers<std::uint8_t>(p, header, codes, out);
    case 2:
      return decode_integers<std::uint16_t>(p, header, codes, out);
    case 4:
      return p.is_float ? decode_floats<float, std::uint32_t>(p, header, codes, out)
                        : decode_integers<std::uint32_t>(p, header, codes, out);
    default:
      return p.is_float ? decode_floats<double, std::uint64_t>(p, header, codes, out)
                        : decode_integers<std::uint64_t>(p, header, codes, out);
  }
}

class ScaleOffset final : public Filter {
 public:
  explicit ScaleOffset(const Parameters& parameters) : p_(parameters) {}

  // A scale factor of the full width means that the writer stored the chunk unchanged.
  Result<std::optional<ByteSpan>> as_view(ByteSpan in) const override {
    if (p_.scale_type == kInteger && p_.scale_factor == static_cast<std::int32_t>(p_.size * 8)) {
      return std::optional(in);
    }
    return std::optional<ByteSpan>{};
  }

  Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const override {
    const std::size_t size = p_.elements * p_.size;
    if (size > out.size()) return failed("scaleoffset", "more elements than the chunk has");
    if (in.size() < 5) return failed("scaleoffset", "no room for the header");
    Header header;
    header.minbits = load_le<std::uint32_t>(in.data());
    const std::size_t width = std::min<std::size_t>(std::to_integer<std::size_t>(in[4]), 8);
    if (in.size() < kCodesAt) return failed("scaleoffset", "no room for the header");
    header.minval = load_le_width(in.data() + 5, width);
    if (header.minbits > p_.size * 8) return failed("scaleoffset", "codes wider than the elements");
    const ByteSpan codes = in.subspan(kCodesAt);
    if (!BitReader(codes).has(p_.elements, header.minbits)) return failed("scaleoffset", "too few codes");
    if (header.minbits == p_.size * 8) {
      if (size != 0) copy_elements(p_, codes, out.data());
    } else {
      decode_elements(p_, header, codes, out.data());
    }
    return size;
  }

 private:
  Parameters p_;
};

std::uint64_t fill_bits_of(const FilterSpec& spec, std::size_t size) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 2 && 8 + i < spec.client_data.size(); ++i) {
    bits |= std::uint64_t{spec.client_data[8 + i]} << (32 * i);
  }
  return size < 8 ? bits & ((std::uint64_t{1} << (8 * size)) - 1) : bits;
}

}  // namespace

Result<FilterPtr> make_scale_offset(const FilterSpec& spec, std::size_t chunk_bytes) {
  const auto& values = spec.client_data;
  if (values.size() < 8) return bad_client_data("scaleoffset", "eight values are needed");
  Parameters p;
  p.scale_type = values[0];
  p.scale_factor = static_cast<std::int32_t>(values[1]);
  p.elements = values[2];
  p.is_float = values[3] == 1;
  p.size = values[4];
  p.big_endian = values[6] == 1;
  p.fill_defined = values[7] == 1;
  if (p.scale_type == kFloatExponent) {
    return fail(Error(ErrorCode::UnsupportedFeature, "scaleoffset: E-scaling was never defined"));
  }
  if (p.scale_type > kInteger) return bad_client_data("scaleoffset", "scale type");
  if (values[3] > 1 || p.is_float != (p.scale_type == kFloatDecimal))
    return bad_client_data("scaleoffset", "class");
  const bool sound_size = p.size == 4 || p.size == 8 || (!p.is_float && (p.size == 1 || p.size == 2));
  if (!sound_size) return bad_client_data("scaleoffset", "element size");
  if (!range_within(0, p.elements * p.size, chunk_bytes))
    return bad_client_data("scaleoffset", "number of elements");
  p.fill_bits = fill_bits_of(spec, p.size);
  return std::make_shared<ScaleOffset>(p);
}

}  // namespace h5mount::filter

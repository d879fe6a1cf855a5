// N-bit (filter 5): stores the significant bits of each value, one after another, as one bit string
// (bit_reader.h).
//
// Client data describe the datatype as a tree, written depth first:
//   number of values | stored as is | elements | class, size, and by class:
//     1 atomic:   order (0 little-endian, 1 big-endian), precision, offset
//     2 array:    the base type (class, size, …)
//     3 compound: number of members, then each: byte offset, class, size, …
//     4 other: no parameters: all its bytes are stored
// Every other bit of a decoded element is zero.
#include <algorithm>

#include "bit_reader.h"
#include "filters.h"
#include "h5mount/base/limits.h"

namespace h5mount::filter {
namespace {

// Far larger than any number type. It bounds the work: a value of one stored bit can decode to this many
// bytes.
constexpr std::uint32_t kMaxAtomicBytes = 1024;

enum class Kind : std::uint8_t { Atomic = 1, Array = 2, Compound = 3, Verbatim = 4 };

struct Type {
  Kind kind = Kind::Verbatim;
  bool big_endian = false;
  std::uint32_t offset_in_parent = 0;
  std::uint32_t size = 0;       // bytes
  std::uint32_t precision = 0;  // atomic: significant bits
  std::uint32_t bit_offset = 0;
  std::vector<Type> members;  // compound: its members; array: its base type as the only entry
};

// Reads the tree. Each type takes at least two values, so the number of values bounds the tree's size; its
// depth has its own bound.
class TypeReader {
 public:
  explicit TypeReader(std::span<const std::uint32_t> values) : values_(values) {}

  Result<Type> read(unsigned depth) {
    if (depth > limits::kMaxDatatypeDepth) return bad_client_data("nbit", "types nested too deep");
    H5_ASSIGN(const std::uint32_t kind, next());
    Type type;
    H5_ASSIGN(type.size, next());
    if (type.size == 0) return bad_client_data("nbit", "a type of no bytes");
    type.kind = static_cast<Kind>(kind);
    switch (kind) {
      case 1:
        return read_atomic(std::move(type));
      case 2:
        return read_array(std::move(type), depth);
      case 3:
        return read_compound(std::move(type), depth);
      case 4:
        return type;
      default:
        return bad_client_data("nbit", "a class that is not known");
    }
  }

 private:
  Result<std::uint32_t> next() {
    if (at_ == values_.size()) return bad_client_data("nbit", "too few values");
    return values_[at_++];
  }

  Result<Type> read_atomic(Type type) {
    H5_ASSIGN(const std::uint32_t order, next());
    H5_ASSIGN(type.precision, next());
    H5_ASSIGN(type.bit_offset, next());
    const std::uint64_t bits = std::uint64_t{type.size} * 8;
    if (order > 1 || type.precision == 0 || std::uint64_t{type.precision} + type.bit_offset > bits ||
        type.size > kMaxAtomicBytes) {
      return bad_client_data("nbit", "an atomic type's order, precision or offset");
    }
    type.big_endian = order == 1;
    return type;
  }

  Result<Type> read_array(Type type, unsigned depth) {
    H5_ASSIGN(Type base, read(depth + 1));
    if (type.size % base.size != 0) return bad_client_data("nbit", "an array's size");
    type.members.push_back(std::move(base));
    return type;
  }

  Result<Type> read_compound(Type type, unsigned depth) {
    H5_ASSIGN(const std::uint32_t count, next());
    // Every type must consume input bits, so that the stored size bounds the work.
    if (count == 0) return bad_client_data("nbit", "a compound of no members");
    for (std::uint32_t i = 0; i < count; ++i) {
      H5_ASSIGN(const std::uint32_t offset, next());
      H5_ASSIGN(Type member, read(depth + 1));
      if (offset > type.size || member.size > type.size - offset) {
        return bad_client_data("nbit", "a member outside its compound");
      }
      member.offset_in_parent = offset;
      type.members.push_back(std::move(member));
    }
    return type;
  }

  std::span<const std::uint32_t> values_;
  std::size_t at_ = 0;
};

void store_value(std::uint64_t value, const Type& type, std::byte* out) {
  if (type.big_endian)
    value = load_be<std::uint64_t>(reinterpret_cast<const std::byte*>(&value)) >> (64 - 8 * type.size);
  std::memcpy(out, &value, type.size);
}

// Decodes atomic types of more than eight bytes (long double) byte by byte, from the most significant one.
void decode_long(BitReader& reader, const Type& type, std::byte* out) {
  std::memset(out, 0, type.size);
  std::uint32_t top = type.bit_offset + type.precision;
  while (top > type.bit_offset) {
    const std::uint32_t byte = (top - 1) / 8;
    const std::uint32_t low = std::max(byte * 8, type.bit_offset);
    const auto bits = static_cast<std::byte>(reader.read(top - low) << (low - byte * 8));
    out[type.big_endian ? type.size - 1 - byte : byte] = bits;
    top = low;
  }
}

bool decode_value(BitReader& reader, const Type& type, std::byte* out) {  // NOLINT(misc-no-recursion)
  switch (type.kind) {
    case Kind::Atomic:
      if (!reader.has(1, type.precision)) return false;
      if (type.size > 8)
        decode_long(reader, type, out);
      else
        store_value(reader.read(type.precision) << type.bit_offset, type, out);
      return true;
    case Kind::Array:
      for (std::uint32_t at = 0; at < type.size; at += type.members.front().size)
        if (!decode_value(reader, type.members.front(), out + at)) return false;
      return true;
    case Kind::Compound:
      return std::ranges::all_of(type.members, [&](const Type& member) {
        return decode_value(reader, member, out + member.offset_in_parent);
      });
    case Kind::Verbatim:
      if (!reader.has(type.size, 8)) return false;
      for (std::uint32_t i = 0; i < type.size; ++i) out[i] = static_cast<std::byte>(reader.read(8));
      return true;
  }
  return false;
}

// Decodes numbers of 1, 2, 4 or 8 bytes, the common case: no calls and no checks in the loop.
template <unsigned Size>
bool decode_numbers(BitReader& reader, const Type& type, std::size_t count, std::byte* out) {
  if (!reader.has(count, type.precision)) return false;
  for (std::size_t i = 0; i < count; ++i, out += Size) {
    std::uint64_t value = reader.read(type.precision) << type.bit_offset;
    if (type.big_endian)
      value = load_be<std::uint64_t>(reinterpret_cast<const std::byte*>(&value)) >> (64 - 8 * Size);
    std::memcpy(out, &value, Size);
  }
  return true;
}

bool decode_elements(BitReader& reader, const Type& type, std::size_t count, std::byte* out) {
  const bool number = type.kind == Kind::Atomic;
  if (number && type.size == 1) return decode_numbers<1>(reader, type, count, out);
  if (number && type.size == 2) return decode_numbers<2>(reader, type, count, out);
  if (number && type.size == 4) return decode_numbers<4>(reader, type, count, out);
  if (number && type.size == 8) return decode_numbers<8>(reader, type, count, out);
  std::memset(out, 0, count * type.size);  // gaps between members
  for (std::size_t i = 0; i < count; ++i)
    if (!decode_value(reader, type, out + i * type.size)) return false;
  return true;
}

class NBit final : public Filter {
 public:
  NBit(Type type, std::size_t elements) : type_(std::move(type)), elements_(elements) {}

  Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const override {
    if (elements_ > out.size() / type_.size) return failed("nbit", "more elements than the chunk has");
    BitReader reader(in);
    if (!decode_elements(reader, type_, elements_, out.data()))
      return failed("nbit", "the bits are cut short");
    return elements_ * type_.size;
  }

 private:
  Type type_;
  std::size_t elements_;
};

class StoredAsIs final : public Filter {
 public:
  Result<std::optional<ByteSpan>> as_view(ByteSpan in) const override { return std::optional(in); }
  Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const override {
    if (in.size() > out.size()) return failed("nbit", "more bytes stored than the chunk has");
    if (!in.empty()) std::memcpy(out.data(), in.data(), in.size());
    return in.size();
  }
};

}  // namespace

Result<FilterPtr> make_nbit(const FilterSpec& spec, std::size_t) {
  const auto& values = spec.client_data;
  if (values.size() < 3) return bad_client_data("nbit", "three values are needed");
  if (values[1] != 0) return std::make_shared<StoredAsIs>();
  H5_ASSIGN(Type type, TypeReader(std::span(values).subspan(3)).read(0));
  return std::make_shared<NBit>(std::move(type), values[2]);
}

}  // namespace h5mount::filter

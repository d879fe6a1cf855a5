#include "type_conversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace h5mount::dataset {
namespace {

using format::DatatypeClass;

constexpr std::size_t kLengthBytes = 4, kIndexBytes = 4;  // of a value of variable length
constexpr std::size_t kMaxObjectBytes = 256U << 20;       // converted, in memory

// Names a type by all that its conversion depends on.
void append_key(const format::Datatype& t, std::string& out) {
  out +=
      fmt::format("({},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", static_cast<int>(t.cls), t.size,
                  static_cast<int>(t.order), t.bit_offset, t.bit_precision, t.is_signed, t.sign_location,
                  t.exponent_location, t.exponent_size, t.mantissa_location, t.mantissa_size, t.exponent_bias,
                  static_cast<int>(t.normalization), static_cast<int>(t.padding), t.variable_string);
  for (const std::uint32_t dim : t.dims) out += fmt::format(";{}", dim);
  for (const format::CompoundMember& member : t.members) {
    out += fmt::format("|{}@{}={}", member.name.size(), member.offset, member.name);
    append_key(*member.type, out);
  }
  for (const format::EnumMember& member : t.enum_members)
    out += fmt::format("|{}={}:", member.name.size(), member.name).append(as_text(member.value));
  if (t.base) append_key(*t.base, out);
  out += ')';
}

void store(std::uint64_t value, std::size_t width, MutableByteSpan out) {
  for (std::size_t i = 0; i < width && i < out.size(); ++i) out[i] = static_cast<std::byte>(value >> (8 * i));
}

Error no_conversion() {
  return {ErrorCode::UnsupportedFeature, "no conversion from the source's datatype to the view's"};
}

// The conversion of a whole object of a heap, which holds values of the source's base type.
std::function<Result<metadata::GlobalHeapObject>(const metadata::GlobalHeapObject&)> object_conversion(
    std::shared_ptr<const TypeConversion> base, std::size_t from_size, std::size_t to_size) {
  if (base->identity()) return nullptr;
  return [base = std::move(base), from_size,
          to_size](const metadata::GlobalHeapObject& object) -> Result<metadata::GlobalHeapObject> {
    const std::size_t count = object.bytes().size() / from_size;
    if (count > kMaxObjectBytes / to_size)
      return fail(
          Error(ErrorCode::LimitExceeded, "a value of variable length that is too long to be converted")
              .with_expected(kMaxObjectBytes));
    const auto bytes = std::make_shared<std::vector<std::byte>>(count * to_size);
    H5_TRY(base->convert(count, object.bytes().first(count * from_size), *bytes));
    return metadata::GlobalHeapObject(bytes, *bytes);
  };
}

}  // namespace

Result<TypeConversion::Ptr> TypeConversion::make(const format::DatatypePtr& from,
                                                 const format::DatatypePtr& to, const HeapMove& move) {
  const format::Datatype& f = *from;
  const format::Datatype& t = *to;
  if (same_datatype(f, t) && (move.same_file || !f.has_variable_part))
    return Ptr(new TypeConversion(Kind::Copy, f.size, t.size));
  if (f.cls == DatatypeClass::Compound && t.cls == DatatypeClass::Compound) return make_compound(f, t, move);
  if (f.cls == DatatypeClass::Array && t.cls == DatatypeClass::Array && f.dims == t.dims)
    return make_repeated(f, t, f.size / f.base->size, move);
  if (f.cls == DatatypeClass::Complex && t.cls == DatatypeClass::Complex) return make_repeated(f, t, 2, move);
  if (f.cls == DatatypeClass::VariableLength && t.cls == DatatypeClass::VariableLength &&
      f.variable_string == t.variable_string)
    return make_variable(f, t, move);
  auto atoms = ElementConversion::make(from, to);
  if (!atoms) return fail(no_conversion());
  std::shared_ptr<TypeConversion> out(new TypeConversion(Kind::Atoms, f.size, t.size));
  out->atoms_ = std::move(atoms);
  return out;
}

Result<TypeConversion::Ptr> TypeConversion::make_compound(const format::Datatype& from,
                                                          const format::Datatype& to, const HeapMove& move) {
  std::unordered_map<std::string_view, const format::CompoundMember*> by_name;
  for (const format::CompoundMember& member : from.members) by_name.emplace(member.name, &member);
  std::shared_ptr<TypeConversion> out(new TypeConversion(Kind::Parts, from.size, to.size));
  for (const format::CompoundMember& member : to.members) {
    const auto found = by_name.find(member.name);
    if (found == by_name.end()) continue;
    H5_ASSIGN(auto conversion, make(found->second->type, member.type, move));
    out->parts_.push_back({found->second->offset, member.offset, 1, std::move(conversion)});
  }
  return out;
}

Result<TypeConversion::Ptr> TypeConversion::make_repeated(const format::Datatype& from,
                                                          const format::Datatype& to, std::size_t times,
                                                          const HeapMove& move) {
  std::shared_ptr<TypeConversion> out(new TypeConversion(Kind::Parts, from.size, to.size));
  H5_ASSIGN(auto conversion, make(from.base, to.base, move));
  out->parts_.push_back({0, 0, times, std::move(conversion)});
  return out;
}

Result<TypeConversion::Ptr> TypeConversion::make_variable(const format::Datatype& from,
                                                          const format::Datatype& to, const HeapMove& move) {
  // A place takes 8 bytes.
  const auto heaps = move.to_heaps.lock();
  if (heaps == nullptr || move.to_sizes.offsets < 8) return fail(no_conversion());
  std::shared_ptr<TypeConversion> out(new TypeConversion(Kind::Variable, from.size, to.size));
  Ptr base(new TypeConversion(Kind::Copy, 1, 1));  // of strings: whatever they say of themselves
  if (!from.variable_string) {
    H5_ASSIGN(base, make(from.base, to.base, move));
  }
  out->move_ = move;
  out->key_ = move.name;
  if (!base->identity()) {
    append_key(*from.base, out->key_);
    append_key(*to.base, out->key_);
  }
  out->convert_object_ = object_conversion(std::move(base), from.base->size, to.base->size);
  H5_ASSIGN(out->place_, heaps->place_of(out->key_, {move.name, move.open, out->convert_object_}));
  return out;
}

Status TypeConversion::convert(std::size_t count, ByteSpan from, MutableByteSpan to) const {
  switch (kind_) {
    case Kind::Copy:
      std::copy_n(from.begin(), count * from_size_, to.begin());
      return {};
    case Kind::Atoms:
      atoms_->convert(count, from, to);
      return {};
    case Kind::Variable:
      return convert_places(count, from, to);
    case Kind::Parts:
      break;
  }
  for (std::size_t i = 0; i < count; ++i)
    for (const Part& part : parts_) {
      const TypeConversion& each = *part.conversion;
      H5_TRY(each.convert(part.times,
                          from.subspan(i * from_size_ + part.from_at, part.times * each.from_size_),
                          to.subspan(i * to_size_ + part.to_at, part.times * each.to_size_)));
    }
  return {};
}

Status TypeConversion::convert_places(std::size_t count, ByteSpan from, MutableByteSpan to) const {
  const std::size_t width = move_.to_sizes.offsets;
  for (std::size_t i = 0; i < count; ++i) {
    format::Cursor cursor(from.subspan(i * from_size_, from_size_), 0, "VariableLengthElement",
                          move_.from_sizes);
    const std::uint32_t length = cursor.u32("length");
    const std::uint64_t address = cursor.address("heap_collection_address");
    const std::uint32_t index = cursor.u32("heap_object_index");
    H5_TRY(cursor.finish());
    H5_ASSIGN(const std::uint64_t place, place_in_target(address));
    const MutableByteSpan out = to.subspan(i * to_size_, to_size_);
    std::ranges::fill(out, std::byte{0});
    store(length, kLengthBytes, out);
    store(place, sizeof place, out.subspan(kLengthBytes));
    store(index, kIndexBytes, out.subspan(kLengthBytes + width));
  }
  return {};
}

// A source that is a virtual dataset itself gives places in its file's foreign heaps.
Result<std::uint64_t> TypeConversion::place_in_target(std::uint64_t address) const {
  using metadata::ForeignHeaps;
  if (address == 0 || address == format::kUndefinedAddress) return 0;
  const auto heaps = move_.from_heaps.lock();
  const auto inner = heaps != nullptr ? heaps->find(address) : std::nullopt;
  if (!inner) {
    if (address > ForeignHeaps::kMaxAddress)
      return fail(Error(ErrorCode::OutOfRange, "VariableLengthElement", "heap_collection_address", 0)
                      .with_found(address)
                      .with_expected(ForeignHeaps::kMaxAddress));
    return place_ | address;
  }
  ForeignHeaps::Heap heap = inner->heap;
  if (convert_object_ && heap.convert)
    heap.convert = [first = heap.convert, then = convert_object_](
                       const metadata::GlobalHeapObject& object) -> Result<metadata::GlobalHeapObject> {
      H5_ASSIGN(const auto converted, first(object));
      return then(converted);
    };
  else if (convert_object_)
    heap.convert = convert_object_;
  const auto targets = move_.to_heaps.lock();
  if (targets == nullptr) return fail(Error(ErrorCode::Stale, "the virtual dataset's file was closed"));
  H5_ASSIGN(const std::uint64_t place, targets->place_of(fmt::format("{}\n{:x}", key_, inner->place), heap));
  return place | inner->address;
}

}  // namespace h5mount::dataset

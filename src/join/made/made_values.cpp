#include "made_values.h"

#include <algorithm>
#include <deque>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/metadata/global_heap.h"
#include "h5mount/text/reference.h"

namespace h5mount::join {
namespace {

using format::DatatypeClass;
using format::ReferenceKind;

constexpr std::uint32_t kSequenceBytes = 16;
// A reference of HDF5 1.12 to an object of its own file: kind, flags, length of the token, token.
constexpr std::size_t kTokenAt = 3, kTokenBytes = 8;
constexpr std::uint64_t kStepsPerObject = 2'000;

format::DatatypePtr with_base(const format::Datatype& type, format::DatatypePtr base, std::uint64_t size) {
  if (!base || size > UINT32_MAX) return nullptr;
  auto out = std::make_shared<format::Datatype>(type);
  out->base = std::move(base);
  out->size = static_cast<std::uint32_t>(size);
  return out;
}

format::DatatypePtr made_array(const format::Datatype& type) {
  format::DatatypePtr base = type_for_made(type.base);
  if (!base) return nullptr;
  const std::uint64_t size = std::uint64_t{base->size} * (type.size / type.base->size);
  return with_base(type, std::move(base), size);
}

format::DatatypePtr made_compound(const format::Datatype& type) {
  auto out = std::make_shared<format::Datatype>(type);
  for (format::CompoundMember& member : out->members) {
    const std::uint32_t size = member.type->size;
    member.type = type_for_made(member.type);
    if (!member.type || member.type->size != size) return nullptr;
  }
  return out;
}

format::DatatypePtr made_reference(const format::DatatypePtr& type) {
  if (type->reference == ReferenceKind::Object2) return type->size >= kTokenAt + kTokenBytes ? type : nullptr;
  if (type->reference != ReferenceKind::Object1) return nullptr;
  if (type->size == kTokenBytes) return type;
  auto out = std::make_shared<format::Datatype>(*type);
  out->size = kTokenBytes;
  return out;
}

}  // namespace

// As deep as types are (limits::kMaxDatatypeDepth).
format::DatatypePtr type_for_made(const format::DatatypePtr& type) {
  if (!type->has_variable_part && !type->has_reference) return type;
  switch (type->cls) {
    case DatatypeClass::VariableLength:
      return with_base(*type, type_for_made(type->base), kSequenceBytes);
    case DatatypeClass::Array:
      return made_array(*type);
    case DatatypeClass::Compound:
      return made_compound(*type);
    case DatatypeClass::Reference:
      return made_reference(type);
    default:
      return nullptr;
  }
}

Status ValueReader::charge(std::uint64_t bytes) {
  H5_TRY(budget_.spend(bytes));
  if (bytes > bytes_left_)
    return fail(Error(ErrorCode::TooLarge, "more bytes of attributes than a joined file keeps"));
  bytes_left_ -= bytes;
  return {};
}

Result<MadeValue> ValueReader::read(const format::Datatype& type, const format::Datatype& made,
                                    ByteSpan elements) {
  MadeValue out;
  const std::size_t count = elements.size() / type.size;
  H5_TRY(charge(std::uint64_t{count} * made.size));
  if (!type.has_variable_part && !type.has_reference) {
    out.bytes.assign(elements.begin(), elements.end());
    return out;
  }
  out.bytes.resize(count * made.size);
  for (std::size_t i = 0; i < count; ++i)
    H5_TRY(take(type, made, elements.subspan(i * type.size, type.size), i * made.size, out));
  return out;
}

Status ValueReader::take(const format::Datatype& type, const format::Datatype& made, ByteSpan element,
                         std::size_t at, MadeValue& out) {
  if (type.cls == DatatypeClass::VariableLength) return take_sequence(type, made, element, at, out);
  if (type.cls == DatatypeClass::Reference) return take_reference(type, element, at, out);
  if (type.cls == DatatypeClass::Compound) return take_compound(type, made, element, at, out);
  if (type.cls == DatatypeClass::Array && (type.has_variable_part || type.has_reference)) {
    for (std::size_t i = 0; i < type.size / type.base->size; ++i)
      H5_TRY(take(*type.base, *made.base, element.subspan(i * type.base->size, type.base->size),
                  at + i * made.base->size, out));
    return {};
  }
  std::ranges::copy(element, out.bytes.begin() + static_cast<std::ptrdiff_t>(at));
  return {};
}

// With its padding.
Status ValueReader::take_compound(const format::Datatype& type, const format::Datatype& made,
                                  ByteSpan element, std::size_t at, MadeValue& out) {
  std::ranges::copy(element, out.bytes.begin() + static_cast<std::ptrdiff_t>(at));
  for (std::size_t i = 0; i < type.members.size(); ++i) {
    const format::CompoundMember& member = type.members[i];
    const format::Datatype& part = *member.type;
    if (part.has_variable_part || part.has_reference)
      H5_TRY(take(part, *made.members[i].type, element.subspan(member.offset, part.size), at + member.offset,
                  out));
  }
  return {};
}

Status ValueReader::take_sequence(const format::Datatype& type, const format::Datatype& made,
                                  ByteSpan element, std::size_t at, MadeValue& out) {
  format::Cursor cursor(element, 0, "VariableLengthElement", file_->sizes());
  const std::uint32_t length = cursor.u32("length");
  const std::uint64_t collection = cursor.address("collection_address");
  const std::uint32_t index = cursor.u32("index");
  H5_TRY(cursor.finish());
  std::fill_n(out.bytes.begin() + static_cast<std::ptrdiff_t>(at), kSequenceBytes, std::byte{0});
  MadeValue::Sequence sequence{at, length, {}};
  const bool nowhere = collection == 0 || collection == format::kUndefinedAddress;
  if (length > 0) {
    H5_ASSIGN(const auto object, metadata::load_global_heap_object(*file_, collection, index));
    const std::uint64_t bytes = std::uint64_t{length} * type.base->size;
    if (object.bytes().size() < bytes)
      return fail(Error(ErrorCode::Truncated, "VariableLengthElement", "length", collection)
                      .with_found(object.bytes().size())
                      .with_expected(bytes));
    H5_ASSIGN(MadeValue elements,
              read(*type.base, *made.base, object.bytes().first(static_cast<std::size_t>(bytes))));
    sequence.elements.push_back(std::move(elements));
  } else if (!nowhere) {
    sequence.elements.emplace_back();
  }
  out.sequences.push_back(std::move(sequence));
  return charge(sizeof(MadeValue::Sequence) + sizeof(MadeValue));
}

Status ValueReader::take_reference(const format::Datatype& type, ByteSpan element, std::size_t at,
                                   MadeValue& out) {
  const text::ValueContext context{{.file = file_}, budget_};
  H5_ASSIGN(const auto target, text::decode_reference(type, element, context));
  const bool is_new = type.reference == ReferenceKind::Object2;
  const std::size_t made_bytes = is_new ? type.size : kTokenBytes;
  std::fill_n(out.bytes.begin() + static_cast<std::ptrdiff_t>(at), made_bytes, std::byte{0});
  if (!target || target->file) return {};
  H5_ASSIGN(const std::optional<std::string> path, path_of(target->address));
  if (!path || !has_(*path)) return {};
  if (is_new) {
    out.bytes[at] = static_cast<std::byte>(ReferenceKind::Object2);
    out.bytes[at + 2] = static_cast<std::byte>(kTokenBytes);
  }
  out.references.push_back({at + (is_new ? kTokenAt : 0), *path});
  return charge(sizeof(MadeValue::Reference) + path->size());
}

Result<std::optional<std::string>> ValueReader::path_of(std::uint64_t address) {
  if (!walked_) {
    H5_TRY(walk());
    walked_ = true;
  }
  const auto found = paths_.find(address);
  return found == paths_.end() ? std::nullopt : std::optional(found->second);
}

// Of several paths of an object that of the fewest components counts, and of these the first that is listed.
Status ValueReader::walk() {
  std::deque<std::uint64_t> groups{file_->root_address()};
  std::size_t bytes = 0;
  paths_.emplace(file_->root_address(), "");
  for (; !groups.empty(); groups.pop_front()) {
    H5_TRY(budget_.spend(kStepsPerObject));
    const auto object = object::open_object(*file_, groups.front());
    if (!object && is_passing(object.error())) return fail(object.error());
    if (!object || object->kind != object::ObjectKind::Group) continue;
    const auto group = object::Group::open(file_, *object);
    if (!group && is_passing(group.error())) return fail(group.error());
    if (!group) continue;
    const std::string parent = paths_.at(groups.front());
    const Status listed = (*group)->for_each(
        [&](const format::Link& link) {
          if (!budget_.spend(kStepsPerObject / 10)) return false;  // the next group fails with it
          if (!link.is(format::LinkType::Hard) || paths_.contains(link.address)) return true;
          std::string path = parent.empty() ? link.name : parent + "/" + link.name;
          bytes += path.size();
          if (paths_.size() >= limits::kMaxWalkedObjects || bytes > limits::kMaxWalkedPathBytes) return false;
          paths_.emplace(link.address, std::move(path));
          if (object::peek_object_kind(*file_, link.address) != object::ObjectKind::Dataset)
            groups.push_back(link.address);
          return true;
        },
        nullptr);
    if (!listed && is_passing(listed.error())) return listed;
  }
  return {};
}

Result<std::optional<MadeAttribute>> ValueReader::read(const object::Attribute& attribute) {
  if (attribute.damage && is_passing(*attribute.damage)) return fail(*attribute.damage);
  if (attribute.damage || !attribute.type) return std::nullopt;
  const format::Datatype& type = *attribute.type;
  // References inside sequences are those of dimension scales, which are made anew.
  if (type.has_variable_part && type.has_reference) return std::nullopt;
  MadeAttribute out;
  out.type = type_for_made(attribute.type);
  if (!out.type) return std::nullopt;
  const std::uint64_t left = bytes_left_;
  auto value = read(type, *out.type, attribute.data);
  if (!value && is_passing(value.error())) return fail(value.error());
  if (!value) {
    bytes_left_ = left;
    return std::nullopt;
  }
  out.name = attribute.name;
  out.charset = attribute.charset;
  out.space = attribute.space;
  out.value = *std::move(value);
  return out;
}

}  // namespace h5mount::join

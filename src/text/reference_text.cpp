// References as JSON. On disk:
//   object        object header address (O)
//   region        heap collection (O) | index (4): the heap object is object header address (O) | selection
//   of HDF5 1.12  kind (1) | flags (1; bit 0: into another file) | rest
//     an object of this file: token length (1) | token, an object header address
//     else          bytes (4) | heap collection (O) | index (4): the heap object is
//                   token length (1) | token | [other file: length (2), name] |
//                   [region: bytes (4) | rank (4) | selection] or [attribute: length (2), name]
//
// O: size of offsets. All zeros or an undefined address is the empty reference.
#include <fmt/format.h>

#include <algorithm>

#include "h5mount/text/json_writer.h"
#include "h5mount/text/reference.h"
#include "value_writer.h"

namespace h5mount::text {

namespace {

constexpr std::string_view kStructure = "Reference";

bool is_empty_address(std::uint64_t address) {
  return address == 0 || address == format::kUndefinedAddress;
}

std::string name_of(const ValueWriter& writer, std::uint64_t address) {
  auto path = writer.context.path_of ? writer.context.path_of(address) : std::nullopt;
  return path ? *std::move(path) : fmt::format("0x{:x}", address);
}

void write_numbers(std::span<const std::uint64_t> numbers, JsonWriter& json) {
  json.begin_array();
  for (const std::uint64_t number : numbers)
    number == format::kUnlimited ? json.value(nullptr) : json.value(number);
  json.end_array();
}

void write_points(const format::Selection& s, JsonWriter& json) {
  json.begin_object().key("points").begin_array();
  for (std::size_t i = 0; i < s.points.size(); i += s.rank)
    write_numbers(std::span(s.points).subspan(i, s.rank), json);
  json.end_array().end_object();
}

void write_blocks(const format::Selection& s, JsonWriter& json) {
  json.begin_object().key("blocks").begin_array();
  for (std::size_t i = 0; i < s.blocks.size(); i += 2 * std::size_t{s.rank}) {
    json.begin_array();
    write_numbers(std::span(s.blocks).subspan(i, s.rank), json);
    write_numbers(std::span(s.blocks).subspan(i + s.rank, s.rank), json);
    json.end_array();
  }
  json.end_array().end_object();
}

void write_selection(const format::Selection& s, JsonWriter& json) {
  switch (s.kind) {
    case format::Selection::Kind::None:
      json.value("none");
      return;
    case format::Selection::Kind::All:
      json.value("all");
      return;
    case format::Selection::Kind::Points:
      return write_points(s, json);
    case format::Selection::Kind::Hyperslab:
      break;
  }
  if (!s.regular) return write_blocks(s, json);
  json.begin_object();
  write_numbers(s.start, json.key("start"));
  write_numbers(s.stride, json.key("stride"));
  write_numbers(s.count, json.key("count"));
  write_numbers(s.block, json.key("block"));
  json.end_object();
}

using Target = ReferenceTarget;
using MaybeTarget = std::optional<Target>;

Result<MaybeTarget> old_object(const ValueWriter& writer, ByteSpan element) {
  format::Cursor cursor(element, 0, kStructure, writer.sizes());
  const std::uint64_t address = cursor.address("object_address");
  H5_TRY(cursor.finish());
  return is_empty_address(address) ? MaybeTarget() : Target{.address = address};
}

Result<MaybeTarget> old_region(const ValueWriter& writer, ByteSpan element) {
  format::Cursor cursor(element, 0, kStructure, writer.sizes());
  H5_ASSIGN(const auto object, load_heap_place(writer.context, cursor));
  if (!object) return std::nullopt;
  format::Cursor heap(object->bytes(), 0, "RegionReferenceHeapObject", writer.sizes());
  Target target{.address = heap.address("object_address")};
  H5_ASSIGN(target.selection, format::decode_selection(heap));
  return target;
}

std::uint64_t decode_token(format::Cursor& cursor) {
  const std::uint8_t length = cursor.u8("token_length");
  cursor.require(length > 0 && length <= 16, "is not 1 to 16");
  const ByteSpan token = cursor.bytes(length, "token");
  return load_le_width(token.data(), std::min<std::size_t>(token.size(), 8));
}

std::string decode_counted_text(format::Cursor& cursor, std::string_view field) {
  const std::uint16_t length = cursor.u16(field);
  return std::string(as_text(cursor.bytes(length, field)));
}

Result<MaybeTarget> decode_target(format::Cursor& cursor, format::ReferenceKind kind, bool external) {
  Target target;
  target.address = decode_token(cursor);
  if (external) target.file = decode_counted_text(cursor, "file_name");
  if (kind == format::ReferenceKind::Region2) {
    cursor.skip(8, "selection_bytes_and_rank");
    if (!cursor.ok()) return fail(*cursor.error());
    H5_ASSIGN(target.selection, format::decode_selection(cursor));
  }
  if (kind == format::ReferenceKind::Attribute)
    target.attribute = decode_counted_text(cursor, "attribute_name");
  return cursor.finish(MaybeTarget(std::move(target)));
}

void write_target(ValueWriter& writer, const Target& target) {
  // Paths of another file are unknown here.
  const std::string name =
      target.file ? fmt::format("0x{:x}", target.address) : name_of(writer, target.address);
  JsonWriter json(writer.out);
  if (!target.file && !target.selection && !target.attribute) {
    json.value(name);
    return;
  }
  json.begin_object();
  if (target.file) json.member("file", *target.file);
  json.member("object", name);
  if (target.selection) write_selection(*target.selection, json.key("selection"));
  if (target.attribute) json.member("attribute", *target.attribute);
  json.end_object();
}

Result<MaybeTarget> new_target(const ValueWriter& writer, ByteSpan element) {
  constexpr std::uint8_t kExternalFlag = 0x01;
  if (std::ranges::all_of(element, [](std::byte b) { return b == std::byte{0}; })) return std::nullopt;
  format::Cursor cursor(element, 0, kStructure, writer.sizes());
  const std::uint8_t stored_kind = cursor.u8("kind");
  cursor.require(stored_kind >= 2 && stored_kind <= 4, "is unknown");
  const bool external = (cursor.u8("flags") & kExternalFlag) != 0;
  H5_TRY(cursor.finish());
  const auto kind = static_cast<format::ReferenceKind>(stored_kind);
  if (kind == format::ReferenceKind::Object2 && !external) return decode_target(cursor, kind, false);
  cursor.skip(4, "heap_object_bytes");
  H5_ASSIGN(const auto object, load_heap_place(writer.context, cursor));
  if (!object) return std::nullopt;
  format::Cursor heap(object->bytes(), 0, "ReferenceHeapObject", writer.sizes());
  return decode_target(heap, kind, external);
}

Result<MaybeTarget> decode_known_kind(const ValueWriter& writer, const format::Datatype& type,
                                      ByteSpan element) {
  switch (type.reference) {
    case format::ReferenceKind::Object1:
      return old_object(writer, element);
    case format::ReferenceKind::Region1:
      return old_region(writer, element);
    case format::ReferenceKind::Object2:
    case format::ReferenceKind::Region2:
    case format::ReferenceKind::Attribute:
      return new_target(writer, element);
  }
  return std::nullopt;
}

Status write_known_kind(ValueWriter& writer, const format::Datatype& type, ByteSpan element) {
  H5_ASSIGN(const MaybeTarget target, decode_known_kind(writer, type, element));
  if (target)
    write_target(writer, *target);
  else
    writer.out += "null";
  return {};
}

}  // namespace

Result<std::optional<ReferenceTarget>> decode_reference(const format::Datatype& type, ByteSpan element,
                                                        const ValueContext& context) {
  std::string nothing;
  return decode_known_kind({context, nothing, kAnyLength}, type, element);
}

// A reference to nothing says nothing, as an empty one does: the rest of its element is told.
Status write_reference(ValueWriter& writer, const format::Datatype& type, ByteSpan element) {
  const std::size_t start = writer.out.size();
  Status written = write_known_kind(writer, type, element);
  if (written || writer.context.proves_references) return written;
  const ErrorCode why = written.error().code();
  if (!is_about_bytes(why) && why != ErrorCode::NotFound) return written;
  writer.out.resize(start);
  writer.out += "null";
  return {};
}

}  // namespace h5mount::text

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

#include "value_writer.h"

namespace h5mount::text {

namespace {

constexpr std::string_view kStructure = "Reference";

bool is_empty_address(std::uint64_t address) {
  return address == 0 || address == format::kUndefinedAddress;
}

void write_object(ValueWriter& writer, std::uint64_t address) {
  const auto path = writer.context.path_of ? writer.context.path_of(address) : std::nullopt;
  if (path)
    append_json_string(*path, writer.out);
  else
    writer.out += fmt::format("\"0x{:x}\"", address);
}

void write_numbers(std::span<const std::uint64_t> numbers, std::string& out) {
  out.push_back('[');
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out.push_back(',');
    if (numbers[i] == format::kUnlimited)
      out += "null";
    else
      out += fmt::format("{}", numbers[i]);
  }
  out.push_back(']');
}

void write_points(const format::Selection& s, std::string& out) {
  const std::span<const std::uint64_t> points(s.points);
  out += "{\"points\":[";
  for (std::size_t i = 0; i < points.size(); i += s.rank) {
    if (i > 0) out.push_back(',');
    write_numbers(points.subspan(i, s.rank), out);
  }
  out += "]}";
}

void write_blocks(const format::Selection& s, std::string& out) {
  const std::span<const std::uint64_t> blocks(s.blocks);
  out += "{\"blocks\":[";
  for (std::size_t i = 0; i < blocks.size(); i += 2 * std::size_t{s.rank}) {
    out += i > 0 ? ",[" : "[";
    write_numbers(blocks.subspan(i, s.rank), out);
    out.push_back(',');
    write_numbers(blocks.subspan(i + s.rank, s.rank), out);
    out.push_back(']');
  }
  out += "]}";
}

void write_selection(const format::Selection& s, std::string& out) {
  switch (s.kind) {
    case format::Selection::Kind::None:
      out += "\"none\"";
      return;
    case format::Selection::Kind::All:
      out += "\"all\"";
      return;
    case format::Selection::Kind::Points:
      return write_points(s, out);
    case format::Selection::Kind::Hyperslab:
      break;
  }
  if (!s.regular) return write_blocks(s, out);
  out += "{\"start\":";
  write_numbers(s.start, out);
  out += ",\"stride\":";
  write_numbers(s.stride, out);
  out += ",\"count\":";
  write_numbers(s.count, out);
  out += ",\"block\":";
  write_numbers(s.block, out);
  out.push_back('}');
}

Status write_old_object(ValueWriter& writer, ByteSpan element) {
  format::Cursor cursor(element, 0, kStructure, writer.sizes());
  const std::uint64_t address = cursor.address("object_address");
  H5_TRY(cursor.finish());
  if (is_empty_address(address))
    writer.out += "null";
  else
    write_object(writer, address);
  return {};
}

Status write_old_region(ValueWriter& writer, ByteSpan element) {
  format::Cursor cursor(element, 0, kStructure, writer.sizes());
  H5_ASSIGN(const auto object, load_heap_place(writer, cursor));
  if (!object) {
    writer.out += "null";
    return {};
  }
  format::Cursor heap(object->bytes(), 0, "RegionReferenceHeapObject", writer.sizes());
  const std::uint64_t address = heap.address("object_address");
  H5_ASSIGN(const format::Selection selection, format::decode_selection(heap));
  writer.out += "{\"object\":";
  write_object(writer, address);
  writer.out += ",\"selection\":";
  write_selection(selection, writer.out);
  writer.out.push_back('}');
  return {};
}

// The target of an HDF5 1.12 reference.
struct Target {
  std::uint64_t address = format::kUndefinedAddress;
  std::optional<std::string> file;
  std::optional<format::Selection> selection;
  std::optional<std::string> attribute;
};

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

Result<Target> decode_target(format::Cursor& cursor, format::ReferenceKind kind, bool external) {
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
  return cursor.finish(std::move(target));
}

void write_target(ValueWriter& writer, const Target& target) {
  if (!target.file && !target.selection && !target.attribute) return write_object(writer, target.address);
  writer.out.push_back('{');
  if (target.file) {
    writer.out += "\"file\":";
    append_json_string(*target.file, writer.out);
    // Paths of another file are unknown here.
    writer.out += fmt::format(",\"object\":\"0x{:x}\"", target.address);
  } else {
    writer.out += "\"object\":";
    write_object(writer, target.address);
  }
  if (target.selection) {
    writer.out += ",\"selection\":";
    write_selection(*target.selection, writer.out);
  }
  if (target.attribute) {
    writer.out += ",\"attribute\":";
    append_json_string(*target.attribute, writer.out);
  }
  writer.out.push_back('}');
}

Status write_new(ValueWriter& writer, ByteSpan element) {
  constexpr std::uint8_t kExternalFlag = 0x01;
  if (std::ranges::all_of(element, [](std::byte b) { return b == std::byte{0}; })) {
    writer.out += "null";
    return {};
  }
  format::Cursor cursor(element, 0, kStructure, writer.sizes());
  const std::uint8_t stored_kind = cursor.u8("kind");
  cursor.require(stored_kind >= 2 && stored_kind <= 4, "is unknown");
  const bool external = (cursor.u8("flags") & kExternalFlag) != 0;
  H5_TRY(cursor.finish());
  const auto kind = static_cast<format::ReferenceKind>(stored_kind);
  if (kind == format::ReferenceKind::Object2 && !external) {
    H5_ASSIGN(const Target target, decode_target(cursor, kind, false));
    write_target(writer, target);
    return {};
  }
  cursor.skip(4, "heap_object_bytes");
  H5_ASSIGN(const auto object, load_heap_place(writer, cursor));
  if (!object) {
    writer.out += "null";
    return {};
  }
  format::Cursor heap(object->bytes(), 0, "ReferenceHeapObject", writer.sizes());
  H5_ASSIGN(const Target target, decode_target(heap, kind, external));
  write_target(writer, target);
  return {};
}

Status write_known_kind(ValueWriter& writer, const format::Datatype& type, ByteSpan element) {
  switch (type.reference) {
    case format::ReferenceKind::Object1:
      return write_old_object(writer, element);
    case format::ReferenceKind::Region1:
      return write_old_region(writer, element);
    case format::ReferenceKind::Object2:
    case format::ReferenceKind::Region2:
    case format::ReferenceKind::Attribute:
      return write_new(writer, element);
  }
  return {};
}

}  // namespace

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

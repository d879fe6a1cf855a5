#include <fmt/format.h>
#include <fmt/ranges.h>

#include "../numpy_strings.h"
#include "../numpy_type.h"
#include "h5mount/text/value_text.h"
#include "h5mount/view/zarr.h"
#include "zarr_type_parts.h"

namespace h5mount::view {

namespace {

using format::DatatypeClass;

// `little`: big-endian numbers become little-endian ones.
Result<ZarrType> version2_type(const format::Datatype& type, bool little);

Result<ZarrType> zarr_array(const format::Datatype& type, bool little) {
  H5_ASSIGN(const ZarrType inner, version2_type(*type.base, little));
  if (inner.variable_strings) return fail({ErrorCode::UnsupportedFeature, "arrays of strings as elements"});
  ZarrType out{.dtype = inner.dtype, .dims = type.dims, .segments = {}};
  out.dims.insert(out.dims.end(), inner.dims.begin(), inner.dims.end());
  H5_TRY(add_repeated(out, inner, type.base->size, type.size));
  return out;
}

Result<ZarrType> zarr_compound(const format::Datatype& type, bool little) {
  ZarrType out;
  out.dtype = "[";
  for (const format::CompoundMember& member : type.members) {
    H5_ASSIGN(const ZarrType inner, version2_type(*member.type, little));
    if (out.dtype.size() > 1) out.dtype += ',';
    out.dtype += '[';
    text::append_json_string(member.name, out.dtype);
    out.dtype += ',' + inner.dtype;
    if (!inner.dims.empty()) out.dtype += fmt::format(",[{}]", fmt::join(inner.dims, ","));
    out.dtype += ']';
    H5_TRY(add_segments(out, inner, member.offset));
  }
  out.dtype += ']';
  return out;
}

// The bytes of each number in an element of NumPy's type: `>c8` has two of four bytes, dates have eight.
std::uint32_t number_bytes(const format::Datatype& type, char kind) {
  return kind == 'c' ? type.size / 2 : type.size;
}

Result<ZarrType> version2_type(const format::Datatype& type, bool little) {
  if (type.cls == DatatypeClass::VariableLength && type.variable_string) {
    ZarrType out{.dtype = "\"|O\"", .dims = {}, .segments = {}, .variable_strings = true};
    H5_TRY(add_segment(out, {0, type.size}));
    return out;
  }
  H5_ASSIGN(const NumpyType numpy, numpy_type(type));
  if (type.cls == DatatypeClass::Array) return zarr_array(type, little);
  if (numpy.description.starts_with('[')) return zarr_compound(type, little);
  ZarrType out;
  std::string name = numpy.description.substr(1, numpy.description.size() - 2);
  const bool reversed = little && name.starts_with('>');
  if (reversed) name[0] = '<';
  text::append_json_string(name, out.dtype);
  H5_TRY(add_segment(out, {0, type.size, reversed ? number_bytes(type, name[1]) : 0}));
  return out;
}

}  // namespace

Status add_segment(ZarrType& out, ZarrType::Segment segment) {
  constexpr std::size_t kMaxSegments = 4'096;  // elements are copied segment by segment
  out.bytes += segment.bytes;
  if (!out.segments.empty()) {
    ZarrType::Segment& last = out.segments.back();
    if (last.offset + last.bytes == segment.offset && last.reversed == segment.reversed)
      return last.bytes += segment.bytes, Status();
  }
  if (out.segments.size() >= kMaxSegments)
    return fail({ErrorCode::UnsupportedFeature, "padding in too many places"});
  out.segments.push_back(segment);
  return {};
}

Status add_segments(ZarrType& out, const ZarrType& inner, std::uint64_t offset) {
  for (const ZarrType::Segment& part : inner.segments)
    H5_TRY(add_segment(out, {offset + part.offset, part.bytes, part.reversed}));
  return {};
}

Status add_repeated(ZarrType& out, const ZarrType& inner, std::uint64_t item_bytes, std::uint64_t bytes) {
  if (inner.segments.size() == 1 && inner.bytes == item_bytes)
    return add_segment(out, {0, bytes, inner.segments[0].reversed});
  for (std::uint64_t at = 0; at < bytes; at += item_bytes) H5_TRY(add_segments(out, inner, at));
  return {};
}

Result<ZarrType> zarr_type(const format::Datatype& type, ZarrEncoding encoding) {
  H5_TRY(NumpyStrings::check_size(type));
  if (is_version3(encoding)) return version3_type(type);
  return version2_type(type, encoding == ZarrEncoding::Plain);
}

}  // namespace h5mount::view

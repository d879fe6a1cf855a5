#include <fmt/format.h>

#include "../numpy_type.h"
#include "h5mount/text/value_text.h"
#include "h5mount/view/zarr.h"

namespace h5mount::view {

namespace {

using format::DatatypeClass;

// A type's elements are copied segment by segment.
constexpr std::size_t kMaxSegments = 4'096;

Status add_segment(ZarrType& out, std::uint64_t offset, std::uint64_t bytes) {
  out.bytes += bytes;
  if (!out.segments.empty()) {
    ZarrType::Segment& last = out.segments.back();
    if (last.offset + last.bytes == offset) return last.bytes += bytes, Status();
  }
  if (out.segments.size() >= kMaxSegments)
    return fail({ErrorCode::UnsupportedFeature, "padding in too many places"});
  out.segments.push_back({offset, bytes});
  return {};
}

Result<ZarrType> array(const format::Datatype& type) {
  H5_ASSIGN(const ZarrType inner, zarr_type(*type.base));
  if (inner.variable_strings) return fail({ErrorCode::UnsupportedFeature, "arrays of strings as elements"});
  ZarrType out{.dtype = inner.dtype, .dims = type.dims, .segments = {}};
  out.dims.insert(out.dims.end(), inner.dims.begin(), inner.dims.end());
  if (inner.bytes == type.base->size) {
    H5_TRY(add_segment(out, 0, type.size));
    return out;
  }
  for (std::uint64_t at = 0; at < type.size; at += type.base->size)
    for (const ZarrType::Segment& part : inner.segments)
      H5_TRY(add_segment(out, at + part.offset, part.bytes));
  return out;
}

Result<ZarrType> compound(const format::Datatype& type) {
  ZarrType out;
  out.dtype = "[";
  for (const format::CompoundMember& member : type.members) {
    H5_ASSIGN(const ZarrType inner, zarr_type(*member.type));
    if (out.dtype.size() > 1) out.dtype += ',';
    out.dtype += '[';
    text::append_json_string(member.name, out.dtype);
    out.dtype += ',' + inner.dtype;
    if (!inner.dims.empty()) out.dtype += fmt::format(",[{}]", fmt::join(inner.dims, ","));
    out.dtype += ']';
    for (const ZarrType::Segment& part : inner.segments)
      H5_TRY(add_segment(out, member.offset + part.offset, part.bytes));
  }
  out.dtype += ']';
  return out;
}

}  // namespace

Result<ZarrType> zarr_type(const format::Datatype& type) {
  if (type.cls == DatatypeClass::VariableLength && type.variable_string) {
    ZarrType out{.dtype = "\"|O\"", .dims = {}, .segments = {}, .variable_strings = true};
    H5_TRY(add_segment(out, 0, type.size));
    return out;
  }
  H5_ASSIGN(const NumpyType numpy, numpy_type(type));
  if (type.cls == DatatypeClass::Array) return array(type);
  if (numpy.description.starts_with('[')) return compound(type);
  ZarrType out;
  text::append_json_string(std::string_view(numpy.description).substr(1, numpy.description.size() - 2),
                           out.dtype);
  H5_TRY(add_segment(out, 0, type.size));
  return out;
}

}  // namespace h5mount::view

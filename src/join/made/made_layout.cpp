#include "made_layout.h"

#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"

namespace h5mount::join {
namespace {

using format::LayoutClass;
using format::MessageType;
using format::NewMessage;
using format::Writer;

constexpr std::size_t kMostCompactBytes = 32U << 10;

// In names of virtual sources `%b` stands for a number, and `%%` for `%`.
std::string virtual_name(std::string_view name) {
  std::string out;
  for (const char c : name) out.append(c == '%' ? 2 : 1, c);
  return out;
}

// Sources without elements are none: no selection says so.
bool has_elements(const MadeObject& dataset, const MadeSource& source) {
  return source.length > 0 && dataset.space.element_count().value_or(1) > 0;
}

LayoutClass layout_of(const MadeObject& dataset) {
  if (dataset.elements)
    return dataset.elements->bytes.size() <= kMostCompactBytes ? LayoutClass::Compact
                                                               : LayoutClass::Contiguous;
  const auto mapped = [&](const MadeSource& source) { return has_elements(dataset, source); };
  if (std::ranges::any_of(dataset.sources, mapped)) return LayoutClass::Virtual;
  const bool chunked = !dataset.chunk.empty() && dataset.chunk.size() == dataset.space.rank() &&
                       std::ranges::find(dataset.chunk, 0U) == dataset.chunk.end();
  return chunked && dataset.sources.empty() ? LayoutClass::Chunked : LayoutClass::Contiguous;
}

NewMessage layout_message(std::vector<std::byte> body) {
  return {static_cast<std::uint8_t>(MessageType::DataLayout), 0, 0, std::move(body)};
}

Status check_source(const MadeObject& dataset, const MadeSource& source) {
  if (source.file.find('\0') != std::string::npos || source.dataset.find('\0') != std::string::npos)
    return fail(Error(ErrorCode::UnsupportedFeature, "a NUL in the name of a source"));
  if (!dataset.dimension) return {};
  const std::vector<std::uint64_t>& dims = dataset.space.dims;
  if (*dataset.dimension >= dims.size() ||
      !range_within(source.start, source.length, dims[*dataset.dimension]))
    return fail(Error(ErrorCode::Internal, "a source of a made dataset lies outside it"));
  return {};
}

void append_mapping(const MadeObject& dataset, const MadeSource& source, Writer& out) {
  out.text(virtual_name(source.file)).uint(0, 1).text("/" + virtual_name(source.dataset)).uint(0, 1);
  format::encode_all_selection(out);
  if (dataset.space.rank() == 0) return format::encode_all_selection(out);
  std::vector<std::uint64_t> start(dataset.space.rank()), block = dataset.space.dims;
  if (dataset.dimension) {
    start[*dataset.dimension] = source.start;
    block[*dataset.dimension] = source.length;
  }
  format::encode_block_selection(out, start, block);
}

Result<NewMessage> encode_virtual(const MadeObject& dataset, MadeSegment& segment) {
  std::uint64_t count = 0;
  for (const MadeSource& source : dataset.sources) {
    H5_TRY(check_source(dataset, source));
    count += has_elements(dataset, source) ? 1U : 0U;
  }
  if (count > limits::kMaxVirtualMappings)
    return fail(Error(ErrorCode::TooLarge, "more sources than a virtual dataset may have"));
  Writer out({});
  out.uint(0, 1).length(count);
  for (const MadeSource& source : dataset.sources)
    if (has_elements(dataset, source)) append_mapping(dataset, source, out);
  H5_ASSIGN(const MadeSegment::HeapPlace place, segment.append_to_heap(out.checksum().take()));
  return layout_message(format::encode_virtual_layout(place.collection, place.index));
}

std::uint64_t image_bytes(const MadeObject& dataset) {
  const auto bytes = checked_mul(dataset.space.element_count().value_or(0), dataset.type->size);
  return bytes.value_or(0);
}

Result<NewMessage> encode_elements(const MadeObject& dataset, MadeSegment* segment,
                                   const AddressOf& address_of) {
  if (dataset.elements->bytes.size() != image_bytes(dataset))
    return fail(Error(ErrorCode::Internal, "the elements of a made dataset are not those of its shape"));
  const bool compact = layout_of(dataset) == LayoutClass::Compact;
  std::vector<std::byte> data = dataset.elements->bytes;
  if (segment != nullptr) {
    H5_ASSIGN(data, segment->encode_value(*dataset.elements, address_of));
  }
  if (compact) return layout_message(format::encode_compact_layout(data));
  std::uint64_t address = 0;
  if (segment != nullptr) {
    H5_ASSIGN(address, segment->append(data));
  }
  return format::encode_contiguous_layout(address, data.size(), {});
}

// Chunks that nobody looks for in the file; the version 1 B-tree says the least about them.
NewMessage encode_chunks(const MadeObject& dataset) {
  std::vector<std::uint64_t> dims;
  for (const std::uint64_t dim : dataset.chunk) dims.push_back(std::min<std::uint64_t>(dim, UINT32_MAX));
  return format::encode_chunked_layout(format::kUndefinedAddress, dims, dataset.type->size, {});
}

}  // namespace

Result<NewMessage> encode_layout(const MadeObject& dataset, MadeSegment* segment,
                                 const AddressOf& address_of) {
  if (dataset.elements) return encode_elements(dataset, segment, address_of);
  switch (layout_of(dataset)) {
    case LayoutClass::Virtual:
      if (segment == nullptr) return layout_message(format::encode_virtual_layout(0, 0));
      return encode_virtual(dataset, *segment);
    case LayoutClass::Chunked:
      return encode_chunks(dataset);
    default:
      return format::encode_contiguous_layout(format::kUndefinedAddress, image_bytes(dataset), {});
  }
}

bool has_chunks(const MadeObject& dataset) {
  return layout_of(dataset) == LayoutClass::Chunked;
}

std::uint8_t allocation_time(const MadeObject& dataset) {
  constexpr std::uint8_t kEarly = 1, kLate = 2, kIncremental = 3;
  switch (layout_of(dataset)) {
    case LayoutClass::Compact:
      return kEarly;
    case LayoutClass::Contiguous:
      return kLate;
    default:
      return kIncremental;
  }
}

}  // namespace h5mount::join

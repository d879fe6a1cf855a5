#include <algorithm>

#include "h5mount/format/encode.h"

namespace h5mount::format {

std::vector<std::byte> encode_dataspace(const Dataspace& space) {
  const bool may_grow = space.max_dims != space.dims && space.max_dims.size() == space.dims.size();
  Writer out({});
  out.uint(2, 1)
      .uint(space.rank(), 1)
      .uint(may_grow ? 1 : 0, 1)
      .uint(static_cast<std::uint64_t>(space.kind), 1);
  for (const std::uint64_t dim : space.dims) out.length(dim);
  if (may_grow)
    for (const std::uint64_t dim : space.max_dims) out.length(dim);
  return out.take();
}

std::vector<std::byte> encode_fill_value(ByteSpan value, std::uint8_t allocation_time) {
  constexpr std::uint64_t kIfSet = 2U << 2, kHasValue = 0x20;
  Writer out({});
  out.uint(3, 1).uint(allocation_time | kIfSet | (value.empty() ? 0 : kHasValue), 1);
  if (!value.empty()) out.uint(value.size(), 4).bytes(value);
  return out.take();
}

Result<std::vector<std::byte>> encode_filter_pipeline(const FilterPipelineMessage& pipeline) {
  constexpr std::uint16_t kFirstNamed = 256;
  if (pipeline.version == 3 || pipeline.filters.size() > 0xFF)
    return fail(Error(ErrorCode::UnsupportedFeature, "filters of structured chunks"));
  Writer out({});
  out.uint(2, 1).uint(pipeline.filters.size(), 1);
  for (const FilterDescription& filter : pipeline.filters) {
    const std::size_t name = filter.name.empty() ? 0 : std::min<std::size_t>(filter.name.size() + 1, 0xFFFF);
    out.uint(filter.id, 2);
    if (filter.id >= kFirstNamed) out.uint(name, 2);
    out.uint(filter.flags, 2).uint(filter.client_data.size(), 2);
    if (filter.id >= kFirstNamed && name > 0) out.text(filter.name.substr(0, name - 1)).uint(0, 1);
    for (const std::uint32_t value : filter.client_data) out.uint(value, 4);
  }
  return out.take();
}

Result<std::vector<std::byte>> encode_attribute(std::string_view name, CharacterSet charset,
                                                const Datatype& type, const Dataspace& space, ByteSpan data) {
  if (name.size() >= 0xFFFF)
    return fail(Error(ErrorCode::UnsupportedFeature, "an attribute's name of more than 65,534 bytes"));
  H5_ASSIGN(const std::vector<std::byte> stored_type, encode_datatype(type));
  const std::vector<std::byte> stored_space = encode_dataspace(space);
  Writer out({});
  out.uint(3, 1).uint(0, 1).uint(name.size() + 1, 2).uint(stored_type.size(), 2);
  out.uint(stored_space.size(), 2).uint(static_cast<std::uint64_t>(charset), 1).text(name).uint(0, 1);
  out.bytes(stored_type).bytes(stored_space).bytes(data);
  return out.take();
}

std::vector<std::byte> encode_compact_layout(ByteSpan data) {
  Writer out({});
  out.uint(3, 1).uint(0, 1).uint(data.size(), 2).bytes(data);
  return out.take();
}

std::vector<std::byte> encode_virtual_layout(std::uint64_t heap, std::uint32_t index) {
  Writer out({});
  out.uint(4, 1).uint(3, 1).address(heap).uint(index, 4);
  return out.take();
}

void encode_all_selection(Writer& out) {
  out.uint(static_cast<std::uint64_t>(Selection::Kind::All), 4).uint(1, 4).zeros(8);
}

// Version 2, which libhdf5 reads since 1.10: places beyond 2^32 fit.
void encode_block_selection(Writer& out, std::span<const std::uint64_t> start,
                            std::span<const std::uint64_t> block) {
  constexpr std::uint64_t kRegular = 0x01;
  out.uint(static_cast<std::uint64_t>(Selection::Kind::Hyperslab), 4).uint(2, 4).uint(kRegular, 1);
  out.uint(4 + start.size() * 4 * 8, 4).uint(start.size(), 4);
  for (std::size_t i = 0; i < start.size(); ++i)
    out.uint(start[i], 8).uint(std::max<std::uint64_t>(block[i], 1), 8).uint(1, 8).uint(block[i], 8);
}

}  // namespace h5mount::format

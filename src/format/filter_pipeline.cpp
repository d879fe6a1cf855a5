// Filter pipeline message:
//   version 1: 1 (1) | count (1) | reserved (6) | filters:
//              id (2) | name length (2, a multiple of 8) | flags (2) | values (2) | name | values (4 each) |
//              4 more bytes if the number of values is odd
//   version 2: 2 (1) | count (1) | filters:
//              id (2) | [name length (2)] | flags (2) | values (2) | [name] | values (4 each)
//              the bracketed parts only from id 256 on
//   version 3 (structured chunks): 3 (1) | sections (1) | per section:
//              number (1) | count (1) | bytes of the list (2) | filters as in version 2
#include "h5mount/format/filter_pipeline.h"

#include "h5mount/base/limits.h"

namespace h5mount::format {

namespace {

FilterDescription decode_filter(Cursor& cursor, bool padded) {
  FilterDescription filter;
  filter.id = cursor.u16("filter_id");
  const std::size_t name_length = padded || filter.id >= 256 ? cursor.u16("name_length") : 0U;
  filter.flags = cursor.u16("flags");
  cursor.u16("client_value_count");
  const Field value_count = cursor.last();
  const std::string_view name = as_text(cursor.bytes(name_length, "name"));
  filter.name = name.substr(0, name.find('\0'));
  const std::size_t values = cursor.count(value_count, 4, UINT16_MAX);
  filter.client_data.resize(values);
  for (std::uint32_t& value : filter.client_data) value = cursor.u32("client_data");
  if (padded && values % 2 != 0) cursor.skip(4, "client_data_padding");
  return filter;
}

std::vector<FilterDescription> decode_filters(Cursor& cursor, const Field& filter_count, bool padded) {
  constexpr std::size_t kMinFilterBytes = 6;
  const std::size_t count = cursor.count(filter_count, kMinFilterBytes, limits::kMaxFilters);
  std::vector<FilterDescription> filters;
  filters.reserve(count);
  for (std::size_t i = 0; i < count && cursor.ok(); ++i) filters.push_back(decode_filter(cursor, padded));
  return filters;
}

void decode_sections(Cursor& cursor, FilterPipelineMessage& pipeline) {
  constexpr std::size_t kMinSectionBytes = 4;
  cursor.u8("section_count");
  const std::size_t count = cursor.count(kMinSectionBytes, UINT8_MAX);
  for (std::size_t i = 0; i < count && cursor.ok(); ++i) {
    FilterPipelineMessage::Section section;
    section.number = cursor.u8("section_number");
    cursor.require(i == 0 || section.number > pipeline.sections.back().number, "is not ascending");
    cursor.u8("filter_count");
    const Field filters = cursor.last();
    const std::uint16_t length = cursor.u16("filter_list_bytes");
    const Field list_bytes = cursor.last();
    Cursor list = cursor.part(length, "filter_list");
    section.filters = decode_filters(list, filters, false);
    list.require(list.remaining() == 0, list_bytes, "is more than the filters take");
    cursor.take_error(list);
    pipeline.sections.push_back(std::move(section));
  }
}

}  // namespace

Result<FilterPipelineMessage> decode_filter_pipeline(Cursor& cursor) {
  FilterPipelineMessage pipeline;
  pipeline.version = cursor.version(1, 3);
  if (pipeline.version == 3) {
    decode_sections(cursor, pipeline);
    return cursor.finish(std::move(pipeline));
  }
  cursor.u8("filter_count");
  const Field count = cursor.last();
  if (pipeline.version == 1) cursor.skip(6, "reserved");
  pipeline.filters = decode_filters(cursor, count, pipeline.version == 1);
  return cursor.finish(std::move(pipeline));
}

Result<FilterPipelineMessage> decode_section_pipeline(Cursor& cursor) {
  FilterPipelineMessage pipeline;
  const std::uint8_t version = cursor.u8("version");
  cursor.require(version == 1 || version == 3, "is not one of a section pipeline",
                 ErrorCode::UnsupportedVersion);
  decode_sections(cursor, pipeline);
  pipeline.version = 3;
  return cursor.finish(std::move(pipeline));
}

}  // namespace h5mount::format

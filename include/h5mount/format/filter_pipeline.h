// The filter pipeline message (specification IV.A.2.l), versions 1 and 2; version 3 (sparse storage RFC)
// holds one pipeline per section.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "h5mount/format/cursor.h"

namespace h5mount::format {

struct FilterDescription {
  std::uint16_t id = 0;
  std::uint16_t flags = 0;  // bit 0: optional (the writer may have skipped it; no meaning for readers)
  std::string name;         // may be empty
  std::vector<std::uint32_t> client_data;
};

struct FilterPipelineMessage {
  std::uint8_t version = 0;
  std::vector<FilterDescription> filters;  // write order
  struct Section {
    std::uint8_t number = 0;
    std::vector<FilterDescription> filters;
  };
  std::vector<Section> sections;  // version 3 only
};

Result<FilterPipelineMessage> decode_filter_pipeline(Cursor& cursor);

// The pipeline of structured chunks. Its body is that of version 3; the library's prototype writes it as
// version 1 in a separate message type. The result has version 3 in both cases.
Result<FilterPipelineMessage> decode_section_pipeline(Cursor& cursor);

}  // namespace h5mount::format

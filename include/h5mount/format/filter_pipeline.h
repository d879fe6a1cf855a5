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
  std::uint16_t flags = 0;  // bit 0: optional (the writer may have skipped it; says nothing to a reader)
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

// The pipeline of structured chunks where it is known to be one: the body of version 3, which the prototype
// also writes under version 1 in a message class of its own. Gives version 3 for both.
Result<FilterPipelineMessage> decode_section_pipeline(Cursor& cursor);

}  // namespace h5mount::format

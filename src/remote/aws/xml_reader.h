// Reads the XML of answers by expat. A document that declares a type, or that is nested deeply, is refused:
// none of the expected answers is such a document. Threads: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount::remote {

// The root's depth is 1. `text` is that of an element without child elements.
struct XmlHandler {
  std::function<void(int depth, std::string_view name)> begins;
  std::function<void(int depth, std::string_view name, const std::string& text)> ends;
};
// Fails with Io and the reason.
Status read_xml(std::string_view xml, const XmlHandler& handler);

// Times as AWS's services write them: seconds since 1970 of "2026-11-25T01:02:03.000Z", or with "+01:00"
// instead of the Z; 0 if the text is no such time.
std::int64_t seconds_of_time(const std::string& text);

}  // namespace h5mount::remote

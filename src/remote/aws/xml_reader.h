// Reads the XML of answers by expat. A document that declares a type, or that is nested deeply, is refused:
// none of the expected answers is such a document. Threads: a pure function.
#pragma once

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

}  // namespace h5mount::remote

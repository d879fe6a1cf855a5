// The XML of answers, by expat. A document that declares a type, or is deep, is refused: no answer that is
// asked for here is. Threads: a pure function.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount::remote {

// The root's depth is 1. `text`: of what has no elements in it.
struct XmlHandler {
  std::function<void(int depth, std::string_view name)> begins;
  std::function<void(int depth, std::string_view name, const std::string& text)> ends;
};
// Errors: Io, with what is wrong.
Status read_xml(std::string_view xml, const XmlHandler& handler);

}  // namespace h5mount::remote

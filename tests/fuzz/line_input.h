// Lines of a catalogue as a store gives them that somebody else has written to. The process aborts where a
// line has parts that do not lie in it, or where its beginning gives other parts than the whole.
#pragma once

#include <string_view>

namespace h5mount::test {

void take_line(std::string_view line);

}  // namespace h5mount::test

// The fuzz target of a catalogue's lines (line_input.h).
#include <cstdint>

#include "line_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t length) {
  h5mount::test::take_line({reinterpret_cast<const char*>(data), length});
  return 0;
}

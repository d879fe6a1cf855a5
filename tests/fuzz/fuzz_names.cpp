// The fuzz target of names and selections (name_input.h).
#include <cstdint>

#include "name_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t length) {
  h5mount::test::take_names({reinterpret_cast<const char*>(data), length});
  return 0;
}

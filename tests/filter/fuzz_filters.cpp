// The libFuzzer target of one decoder: H5MOUNT_FUZZ_DECODER names it (fuzz_decoders.h). scripts/fuzz.sh runs
// all of them.
#include <cstdio>
#include <cstdlib>

#include "fuzz_decoders.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t length) {
  static const char* const name = std::getenv("H5MOUNT_FUZZ_DECODER");
  if (name == nullptr) {
    std::fputs("H5MOUNT_FUZZ_DECODER must name a decoder:\n", stderr);
    for (const std::string& one : h5mount::test::fuzz_decoders()) std::fprintf(stderr, "  %s\n", one.c_str());
    std::exit(1);
  }
  h5mount::test::fuzz_decoder(name, {reinterpret_cast<const std::byte*>(data), length});
  return 0;
}

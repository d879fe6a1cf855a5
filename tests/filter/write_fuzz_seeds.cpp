// write_fuzz_seeds DIRECTORY: writes a directory of seed inputs for each decoder that can be fuzzed.
#include <iostream>

#include "fuzz_decoders.h"
#include "fuzz_inputs.h"

int main(int argc, char** argv) {
  using namespace h5mount::test;
  if (argc != 2) {
    std::cerr << "usage: write_fuzz_seeds DIRECTORY\n";
    return 1;
  }
  const std::filesystem::path place = argv[1];
  for (const std::string& decoder : fuzz_decoders()) std::filesystem::create_directories(place / decoder);
  int number = 0;
  for (const FuzzInput& input : fuzz_inputs()) {
    std::ofstream out(place / input.decoder / ("seed" + std::to_string(number++)), std::ios::binary);
    out.write(reinterpret_cast<const char*>(input.bytes.data()),
              static_cast<std::streamsize>(input.bytes.size()));
    if (!out.flush()) return 1;
  }
}

// The fuzz targets without a fuzzer: their seeds, deterministic mutations of them, and inputs that once
// failed.
#include <algorithm>

#include "fuzz_decoders.h"
#include "fuzz_inputs.h"

namespace h5mount::test {
namespace {

void mutate(Bytes& input, Random& random) {
  for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
    const std::size_t at = random.below(input.size());
    switch (random.below(5)) {
      case 0:
        input[at] = static_cast<std::byte>(random.next() >> 56);
        break;
      case 1:
        input[at] ^= static_cast<std::byte>(1U << random.below(8));
        break;
      case 2:
        input[at] = random.below(2) == 0 ? std::byte{0} : std::byte{0xff};
        break;
      case 3:
        input.resize(at + 1);
        break;
      default:
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), input[random.below(input.size())]);
    }
  }
}

TEST(FilterFuzz, EveryDecoderHasSeeds) {
  const auto inputs = fuzz_inputs();
  for (const std::string& decoder : fuzz_decoders()) {
    EXPECT_TRUE(std::ranges::any_of(inputs, [&](const FuzzInput& input) { return input.decoder == decoder; }))
        << decoder;
  }
}

TEST(FilterFuzz, ReplayOfSeededMutations) {
  Random random(77);
  for (const FuzzInput& input : fuzz_inputs()) {
    fuzz_decoder(input.decoder, input.bytes);
    for (int round = 0; round < 300; ++round) {
      Bytes changed = input.bytes;
      mutate(changed, random);
      fuzz_decoder(input.decoder, changed);
    }
  }
}

}  // namespace
}  // namespace h5mount::test

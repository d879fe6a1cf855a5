// The fuzz target without a fuzzer: vectors, and seeded mutations of them.
#include "vectors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t length);

namespace h5mount {
namespace {

using namespace test;

std::uint8_t number_of(std::uint16_t id) {
  const auto filters = known_filters();
  for (std::size_t i = 0; i < filters.size(); ++i) {
    if (filters[i].id == id) return static_cast<std::uint8_t>(i);
  }
  return 0;
}

std::vector<std::uint8_t> fuzz_input(const Vector& vector) {
  const FilterSpec& spec = vector.specs.back();
  std::vector<std::uint8_t> input = {number_of(spec.id), static_cast<std::uint8_t>(vector.chunk_bytes),
                                     static_cast<std::uint8_t>(vector.chunk_bytes >> 8),
                                     static_cast<std::uint8_t>(spec.client_data.size())};
  for (const std::uint32_t value : spec.client_data) {
    for (unsigned shift = 0; shift < 32; shift += 8)
      input.push_back(static_cast<std::uint8_t>(value >> shift));
  }
  for (const std::byte byte : vector.stored) input.push_back(std::to_integer<std::uint8_t>(byte));
  return input;
}

void mutate(std::vector<std::uint8_t>& input, Random& random) {
  for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
    const std::size_t at = random.below(input.size());
    switch (random.below(5)) {
      case 0: input[at] = static_cast<std::uint8_t>(random.next() >> 56); break;
      case 1: input[at] ^= static_cast<std::uint8_t>(1U << random.below(8)); break;
      case 2: input[at] = random.below(2) == 0 ? 0 : 0xff; break;
      case 3: input.resize(at + 1); break;
      default:
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), input[random.below(input.size())]);
    }
  }
}

TEST(FilterFuzz, ReplayOfSeededMutations) {
  Random random(77);
  for (const Vector& vector : all_vectors()) {
    const auto input = fuzz_input(vector);
    LLVMFuzzerTestOneInput(input.data(), input.size());
    for (int round = 0; round < 300; ++round) {
      auto changed = input;
      mutate(changed, random);
      LLVMFuzzerTestOneInput(changed.data(), changed.size());
    }
  }
}

// With H5MOUNT_FUZZ_CORPUS=DIRECTORY the vectors are written there, for libFuzzer to begin with.
TEST(FilterFuzz, WritesACorpusWhereAsked) {
  const char* place = std::getenv("H5MOUNT_FUZZ_CORPUS");
  if (place == nullptr) GTEST_SKIP() << "H5MOUNT_FUZZ_CORPUS is not set";
  int number = 0;
  for (const Vector& vector : all_vectors()) {
    const auto input = fuzz_input(vector);
    std::ofstream out(std::filesystem::path(place) / ("vector" + std::to_string(number++)), std::ios::binary);
    out.write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
  }
}

}  // namespace
}  // namespace h5mount

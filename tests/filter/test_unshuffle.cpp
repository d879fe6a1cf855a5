#include "unshuffle.h"

#include "bytes.h"

namespace h5mount::filter {
namespace {

using test::Bytes;

Bytes shuffled(const Bytes& bytes, std::size_t size) {
  const std::size_t count = size > 1 ? bytes.size() / size : 0;
  Bytes out = bytes;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < size; ++j) out[j * count + i] = bytes[i * size + j];
  }
  return out;
}

TEST(Unshuffle, EverySizeAndCountAgreesWithTheDefinition) {
  for (const std::size_t size :
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 17, 20, 24, 31, 32, 33, 40, 63, 100, 255}) {
    for (const std::size_t count : {0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 1000}) {
      for (const std::size_t tail : {std::size_t{0}, size / 2}) {
        const Bytes data = test::random_bytes(size * count + tail, size * 1000 + count);
        const Bytes planes = shuffled(data, size);
        Bytes out(data.size());
        unshuffle_buffer(planes, size, out);
        ASSERT_EQ(out, data) << size << " x " << count;
      }
    }
  }
}

TEST(Unshuffle, VectorCodeAgreesWithPlain) {
  test::Random random(5);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t size = 1 + random.below(40);
    const std::size_t stride = random.below(300);
    const std::size_t first = random.below(stride + 1);
    const std::size_t count = random.below(stride - first + 1);
    const Bytes planes = test::random_bytes(size * stride, static_cast<std::uint64_t>(round));
    Bytes plain(size * count), best(size * count);
    unshuffle_plain(planes.data() + first, stride, count, size, plain.data());
    unshuffle(planes.data() + first, stride, count, size, best.data());
    ASSERT_EQ(plain, best);
#if defined(__x86_64__)
    Bytes sse2(size * count);
    unshuffle_sse2(planes.data() + first, stride, count, size, sse2.data());
    ASSERT_EQ(plain, sse2);
#endif
  }
}

}  // namespace
}  // namespace h5mount::filter

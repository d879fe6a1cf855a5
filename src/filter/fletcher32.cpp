// Fletcher32 (filter 3):
//
//   the chunk's bytes | checksum, 4 bytes, little-endian: (sum2 << 16) | sum1
//
// over the bytes as big-endian 16-bit words (an odd last byte is the high half of a word): sum1 is the sum of
// the words, sum2 the sum of sum1 after every word, both with end-around carry, that is modulo 65535, except
// that a nonzero sum congruent to 0 is 65535.
#include "fletcher32.h"

#include "filters.h"

namespace h5mount::filter {
namespace {

constexpr std::size_t kLanes = 16;        // words per step
constexpr std::size_t kBlockSteps = 256;  // 65535 * 256 * 255 / 2 still fits 32 bits

// Sums that are not yet reduced; a sum is zero only if every word is zero.
struct Sums {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

std::uint64_t fold(std::uint64_t sum) {
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

// Compiler vector types: one source for SSE2 (two halves) and AVX2.
using Words [[gnu::vector_size(16)]] = std::uint16_t;
using Lanes [[gnu::vector_size(32)]] = std::uint32_t;

// Adds `steps` * kLanes little-endian words. Each lane keeps its own pair of sums.
[[gnu::always_inline]] inline void add_block(const std::byte* at, std::size_t steps, Sums& sums) {
  Lanes low_first{}, low_second{}, high_first{}, high_second{};
  for (std::size_t step = 0; step < steps; ++step, at += 2 * kLanes) {
    Words low, high;
    std::memcpy(&low, at, sizeof low);
    std::memcpy(&high, at + sizeof low, sizeof high);
    low_second += low_first;
    high_second += high_first;
    low_first += __builtin_convertvector(low, Lanes);
    high_first += __builtin_convertvector(high, Lanes);
  }
  std::uint32_t first[kLanes];
  std::uint32_t second[kLanes];
  std::memcpy(first, &low_first, sizeof low_first);
  std::memcpy(first + kLanes / 2, &high_first, sizeof high_first);
  std::memcpy(second, &low_second, sizeof low_second);
  std::memcpy(second + kLanes / 2, &high_second, sizeof high_second);
  // The second sum contains a word of lane l in step t (steps-1-t) * kLanes + (kLanes-l) times.
  std::uint64_t block_first = 0;
  std::uint64_t block_second = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    block_first += first[lane];
    block_second += std::uint64_t{second[lane]} * kLanes + std::uint64_t{first[lane]} * (kLanes - lane);
  }
  sums.second = fold(sums.second + sums.first * (steps * kLanes) + block_second);
  sums.first = fold(sums.first + block_first);
}

[[gnu::always_inline]] inline const std::byte* add_blocks(const std::byte* at, std::size_t steps,
                                                          Sums& sums) {
  while (steps > 0) {
    const std::size_t here = steps < kBlockSteps ? steps : kBlockSteps;
    add_block(at, here, sums);
    at += here * 2 * kLanes;
    steps -= here;
  }
  return at;
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] const std::byte* add_blocks_avx2(const std::byte* at, std::size_t steps, Sums& sums) {
  return add_blocks(at, steps, sums);
}
#endif

const std::byte* add_blocks_any(const std::byte* at, std::size_t steps, Sums& sums) {
  return add_blocks(at, steps, sums);
}

using AddBlocks = const std::byte* (*)(const std::byte* at, std::size_t steps, Sums& sums);

std::uint32_t sum_up(ByteSpan bytes, AddBlocks add) {
  // The words are summed as little-endian. Swapping a word's bytes multiplies it by 256 modulo 65535, so
  // swapping the bytes of the final sums replaces swapping each word.
  Sums sums;
  const std::byte* at = bytes.data();
  const std::size_t steps = bytes.size() / (2 * kLanes);
  if (steps > 0) at = add(at, steps, sums);
  const std::size_t rest = bytes.size() % (2 * kLanes);
  for (std::size_t i = 0; i < rest; i += 2) {
    const std::uint64_t word = load_le_width(at + i, rest - i < 2 ? 1 : 2);
    sums.first += word;
    sums.second += sums.first;
  }
  const std::uint64_t first = fold(fold(sums.first) << 8);
  const std::uint64_t second = fold(fold(sums.second) << 8);
  return static_cast<std::uint32_t>(second << 16 | first);
}

}  // namespace

std::uint32_t fletcher32_plain(ByteSpan bytes) {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    std::uint64_t word = std::to_integer<std::uint64_t>(bytes[i]) << 8;
    if (i + 1 < bytes.size()) word |= std::to_integer<std::uint64_t>(bytes[i + 1]);
    first = fold(first + word);
    second = fold(second + first);
  }
  return static_cast<std::uint32_t>(second << 16 | first);
}

std::uint32_t fletcher32_vectors(ByteSpan bytes) {
  return sum_up(bytes, add_blocks_any);
}

std::uint32_t fletcher32(ByteSpan bytes) {
#if defined(__x86_64__)
  static const bool kWide = __builtin_cpu_supports("avx2") != 0;
  if (kWide) return sum_up(bytes, add_blocks_avx2);
#endif
  return fletcher32_vectors(bytes);
}

namespace {

class Fletcher32 final : public Filter {
 public:
  bool decodes_in_place() const override { return true; }
  Result<std::optional<ByteSpan>> as_view(ByteSpan in) const override {
    if (in.size() < 4) return failed("fletcher32", "no room for the checksum");
    const ByteSpan data = in.first(in.size() - 4);
    const auto stored = load_le<std::uint32_t>(in.data() + data.size());
    const std::uint32_t found = fletcher32(data);
    if (stored != found && stored != swapped(found)) {
      return fail(Error(ErrorCode::ChecksumMismatch, "fletcher32: checksum mismatch")
                      .with_expected(stored)
                      .with_found(found));
    }
    return std::optional(data);
  }

  Result<std::size_t> decode(ByteSpan in, MutableByteSpan out) const override {
    H5_ASSIGN(const std::optional<ByteSpan> data, as_view(in));
    if (data->size() > out.size()) return failed("fletcher32", "more bytes stored than the chunk has");
    if (!data->empty()) std::memcpy(out.data(), data->data(), data->size());
    return data->size();
  }
  std::size_t encoded_bound(std::size_t decoded) const override { return decoded + 4; }

 private:
  // The checksum as HDF5 up to 1.6.2 wrote it on little-endian machines: the bytes of each half swapped.
  static std::uint32_t swapped(std::uint32_t sum) {
    return (sum & 0x00ff00ffU) << 8 | (sum >> 8 & 0x00ff00ffU);
  }
};

}  // namespace

Result<FilterPtr> make_fletcher32(const FilterSpec&, std::size_t) {
  return std::make_shared<Fletcher32>();
}

}  // namespace h5mount::filter

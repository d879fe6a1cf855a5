#include "h5mount/base/checksum.h"

#include <atomic>

namespace h5mount {
namespace {

std::atomic<bool> g_enabled{true};
std::atomic<std::uint64_t> g_verified{0};

struct State {
  std::uint32_t a, b, c;

  void mix() {
    a -= c;
    a ^= std::rotl(c, 4);
    c += b;
    b -= a;
    b ^= std::rotl(a, 6);
    a += c;
    c -= b;
    c ^= std::rotl(b, 8);
    b += a;
    a -= c;
    a ^= std::rotl(c, 16);
    c += b;
    b -= a;
    b ^= std::rotl(a, 19);
    a += c;
    c -= b;
    c ^= std::rotl(b, 4);
    b += a;
  }

  void finish() {
    c ^= b;
    c -= std::rotl(b, 14);
    a ^= c;
    a -= std::rotl(c, 11);
    b ^= a;
    b -= std::rotl(a, 25);
    c ^= b;
    c -= std::rotl(b, 16);
    a ^= c;
    a -= std::rotl(c, 4);
    b ^= a;
    b -= std::rotl(a, 14);
    c ^= b;
    c -= std::rotl(b, 24);
  }
};

}  // namespace

std::uint32_t lookup3_checksum(ByteSpan bytes, std::uint32_t initial) {
  const auto start = 0xdeadbeefU + static_cast<std::uint32_t>(bytes.size()) + initial;
  State s{start, start, start};
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left > 12; left -= 12, at += 12) {
    s.a += load_le<std::uint32_t>(at);
    s.b += load_le<std::uint32_t>(at + 4);
    s.c += load_le<std::uint32_t>(at + 8);
    s.mix();
  }
  if (left == 0) return s.c;
  std::byte tail[12] = {};
  std::memcpy(tail, at, left);
  s.a += load_le<std::uint32_t>(tail);
  s.b += load_le<std::uint32_t>(tail + 4);
  s.c += load_le<std::uint32_t>(tail + 8);
  s.finish();
  return s.c;
}

void set_metadata_checksums_enabled(bool on) {
  g_enabled.store(on, std::memory_order_relaxed);
}
bool metadata_checksums_enabled() {
  return g_enabled.load(std::memory_order_relaxed);
}

void count_metadata_checksum() {
  g_verified.fetch_add(1, std::memory_order_relaxed);
}
std::uint64_t metadata_checksums_verified() {
  return g_verified.load(std::memory_order_relaxed);
}

}  // namespace h5mount

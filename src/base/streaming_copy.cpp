#include "h5mount/base/streaming_copy.h"

#include <algorithm>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace h5mount {

#if defined(__x86_64__)

namespace {
constexpr std::size_t kLine = 64;
}

void streaming_copy(ByteSpan from, MutableByteSpan to) {
  const std::byte* source = from.data();
  std::byte* target = to.data();
  std::size_t left = to.size();
  const std::size_t before = std::min(left, -reinterpret_cast<std::uintptr_t>(target) % kLine);
  if (before != 0) std::memcpy(target, source, before);
  source += before, target += before, left -= before;
  for (; left >= kLine; source += kLine, target += kLine, left -= kLine) {
    const auto* const in = reinterpret_cast<const __m128i*>(source);
    auto* const out = reinterpret_cast<__m128i*>(target);
    const __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
    const __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
  }
  if (left != 0) std::memcpy(target, source, left);
}

void end_streaming() {
  _mm_sfence();
}

#else

void streaming_copy(ByteSpan from, MutableByteSpan to) {
  if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
}

void end_streaming() {}

#endif

}  // namespace h5mount

#include "tries.h"

#include <algorithm>
#include <random>

#include "h5mount/base/text.h"

namespace h5mount::remote {
namespace {

constexpr std::chrono::milliseconds kFirstPause{250}, kLongestPause{5'000};

std::chrono::milliseconds jittered(std::chrono::milliseconds pause) {
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::chrono::milliseconds(
      std::uniform_int_distribution<std::int64_t>(pause.count() / 2, pause.count())(generator));
}

// The pause that the server asks for, in seconds as most servers write it; dates are ignored.
std::chrono::milliseconds retry_after(const HttpAnswer& answer) {
  const std::string* const text = answer.field("retry-after");
  const auto seconds = text == nullptr ? std::nullopt : parse_whole<unsigned>(*text);
  return std::chrono::seconds(std::min(seconds.value_or(0), 3600U));
}

}  // namespace

std::chrono::milliseconds pause_before(unsigned tries, const HttpAnswer& answer) {
  return std::max(jittered(std::min(kFirstPause * (1 << std::min(tries, 10U)), kLongestPause)),
                  retry_after(answer));
}

}  // namespace h5mount::remote

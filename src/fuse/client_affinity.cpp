#include "client_affinity.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "h5mount/base/unique_fd.h"

namespace h5mount::fuse {
namespace {

constexpr std::size_t kProcessorField = 37;  // of /proc/PID/stat, counted behind the name (proc(5): 39)

}  // namespace

void ClientAffinity::bind() {
  const std::optional<int> processor = processor_of_(client_);
  if (!processor || *processor == bound_to_ || *processor < 0 || *processor >= CPU_SETSIZE) return;
  if (!bound() && ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  if (!CPU_ISSET(static_cast<std::size_t>(*processor), &before_)) return release();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(*processor), &one);
  if (::sched_setaffinity(0, sizeof one, &one) == 0) bound_to_ = *processor;
}

void ClientAffinity::release() {
  requests_ = 0;
  if (!bound()) return;
  ::sched_setaffinity(0, sizeof before_, &before_);
  bound_to_ = -1;
}

// The name may contain spaces and parentheses, so that fields are counted from the last parenthesis on.
std::optional<int> ClientAffinity::processor_of_thread(pid_t thread) {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", thread);
  const UniqueFd file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  std::array<char, 1024> text{};
  const ssize_t length = ::read(file.get(), text.data(), text.size());
  if (length <= 0) return std::nullopt;
  std::string_view rest(text.data(), static_cast<std::size_t>(length));
  const std::size_t name_end = rest.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  rest.remove_prefix(name_end + 1);
  for (std::size_t field = 0; field < kProcessorField; ++field) {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(space + 1);
  }
  int processor = -1;
  if (std::from_chars(rest.data(), rest.data() + rest.size(), processor).ec != std::errc{})
    return std::nullopt;
  return processor;
}

}  // namespace h5mount::fuse

#include "process_limits.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace h5mount::cli {
namespace {

constexpr unsigned kFirstOther = STDERR_FILENO + 1;

std::optional<unsigned> descriptor_in(std::string_view word) {
  if (word.starts_with("--")) word.remove_prefix(std::min(word.find('=') + 1, word.size()));
  for (const std::string_view directory : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!word.starts_with(directory)) continue;
    word.remove_prefix(directory.size());
    unsigned number = 0;
    const auto [end, trouble] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (trouble == std::errc{}) return number;
  }
  return std::nullopt;
}

void close_others(int count, const char* const* words, std::vector<unsigned> kept) {
  for (int i = 1; i < count; ++i)
    if (const auto number = descriptor_in(words[i]); number && *number >= kFirstOther)
      kept.push_back(*number);
  std::ranges::sort(kept);
  unsigned first = kFirstOther;
  for (const unsigned number : kept) {
    if (number > first) ::close_range(first, number - 1, 0);
    first = std::max(first, number + 1);
  }
  ::close_range(first, ~0U, 0);
}

// Without this, the first file opened would get the number of a missing standard descriptor, and messages
// would be written to it. A missing standard output is replaced by a descriptor that cannot be written.
void fill_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) (void)!::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

void raise_descriptor_limit() {
  struct rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

void tidy_descriptors(int count, const char* const* words, const std::vector<unsigned>& kept) {
  close_others(count, words, kept);
  fill_standard_descriptors();
  raise_descriptor_limit();
}

}  // namespace h5mount::cli

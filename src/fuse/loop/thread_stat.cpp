#include "thread_stat.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "h5mount/base/unique_fd.h"

namespace h5mount::fuse {
namespace {

// Fields counted from the state, which is the first one behind the name.
constexpr std::size_t kFlags = 6, kPending = 28, kProcessor = 36;

// The field `number` of words that are separated by single spaces; -1 if there is none.
std::int64_t number_at(std::string_view words, std::size_t number) {
  for (; number > 0; --number) {
    const std::size_t space = words.find(' ');
    if (space == std::string_view::npos) return -1;
    words.remove_prefix(space + 1);
  }
  std::int64_t out = -1;
  std::from_chars(words.data(), words.data() + words.size(), out);
  return out;
}

std::uint64_t bits_at(std::string_view words, std::size_t number) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(number_at(words, number), 0));
}

}  // namespace

std::string_view read_of_thread(pid_t thread, const char* what, std::span<char> buffer) {
  std::array<char, 48> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/%s", static_cast<int>(thread), what);
  const UniqueFd file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  const ssize_t length = file ? ::read(file.get(), buffer.data(), buffer.size()) : -1;
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

// The name may contain spaces and parentheses, so that fields are counted from the last parenthesis on.
std::optional<ThreadStat> parse_thread_stat(std::string_view line) {
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= line.size()) return std::nullopt;
  line.remove_prefix(name_end + 2);
  return ThreadStat{.state = line.front(),
                    .flags = bits_at(line, kFlags),
                    .pending = bits_at(line, kPending),
                    .processor = static_cast<int>(number_at(line, kProcessor))};
}

std::optional<ThreadStat> thread_stat(pid_t thread) {
  std::array<char, 4096> buffer;
  return parse_thread_stat(read_of_thread(thread, "stat", buffer));
}

}  // namespace h5mount::fuse

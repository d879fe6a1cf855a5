#include "serve_token.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "h5mount/base/log.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount::cli {
namespace {

// Characters that mean themselves in a URL, in a cookie and in every field of a header.
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kMadeLetters = 32;
constexpr std::size_t kLeastLetters = 16, kMostLetters = 512;

Error bad_file(const std::string& path, std::string_view why) {
  return {ErrorCode::InvalidValue, fmt::format("--token-file={}: {}", escape_for_log(path), why)};
}

bool is_token_letter(char c) {
  return kLetters.find(c) != std::string_view::npos || c == '.' || c == '~';
}

}  // namespace

Result<std::string> make_token() {
  std::array<unsigned char, kMadeLetters> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    return fail(io_error(errno, "no random numbers"));
  std::string out;
  for (const unsigned char byte : random) out += kLetters[byte % kLetters.size()];
  return out;
}

Result<std::string> read_token(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat there = {};
  if (file.get() < 0 || ::fstat(file.get(), &there) != 0)
    return fail(io_error(errno, "--token-file=" + escape_for_log(path)));
  if (!S_ISREG(there.st_mode) && !S_ISFIFO(there.st_mode)) return fail(bad_file(path, "no file"));
  if ((there.st_mode & 077) != 0 || (there.st_uid != ::geteuid() && there.st_uid != 0))
    return fail(bad_file(path, "others may read or write it (chmod 600 makes it this user's alone)"));
  std::string text(kMostLetters + 2, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + filled, text.size() - filled);
    if (count < 0) return fail(io_error(errno, "--token-file=" + escape_for_log(path)));
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  text.resize(std::min(filled, text.find_first_of("\r\n")));
  if (text.size() < kLeastLetters || text.size() > kMostLetters ||
      !std::ranges::all_of(text, is_token_letter))
    return fail(
        bad_file(path, fmt::format("its first line must be {} to {} letters, digits, '-', '.', '_' or '~'",
                                   kLeastLetters, kMostLetters)));
  return text;
}

}  // namespace h5mount::cli

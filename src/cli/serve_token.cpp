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

// Characters that stand for themselves in a URL, in a cookie and in every field of a header.
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kMadeLetters = 32;
constexpr std::size_t kMinLetters = 16, kMaxLetters = 512;

// A file that an option names.
struct SecretFile {
  std::string_view option;
  const std::string& path;

  std::string name() const { return fmt::format("{}={}", option, escape_for_log(path)); }
  Error bad(std::string_view why) const {
    return {ErrorCode::InvalidValue, fmt::format("{}: {}", name(), why)};
  }
};

bool is_token_letter(char c) {
  return kLetters.find(c) != std::string_view::npos || c == '.' || c == '~';
}

// The first line of a file that only this user or root may read.
Result<std::string> read_secret(const SecretFile& named) {
  const UniqueFd file(::open(named.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat there = {};
  if (file.get() < 0 || ::fstat(file.get(), &there) != 0) return fail(io_error(errno, named.name()));
  if (!S_ISREG(there.st_mode) && !S_ISFIFO(there.st_mode)) return fail(named.bad("no file"));
  if ((there.st_mode & 077) != 0 || (there.st_uid != ::geteuid() && there.st_uid != 0))
    return fail(named.bad("others may read or write it (chmod 600 makes it this user's alone)"));
  std::string text(kMaxLetters + 2, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + filled, text.size() - filled);
    if (count < 0) return fail(io_error(errno, named.name()));
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  text.resize(std::min(filled, text.find_first_of("\r\n")));
  return text;
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
  const SecretFile file{"--token-file", path};
  H5_ASSIGN(std::string text, read_secret(file));
  if (text.size() < kMinLetters || text.size() > kMaxLetters || !std::ranges::all_of(text, is_token_letter))
    return fail(file.bad(fmt::format("its first line must be {} to {} letters, digits, '-', '.', '_' or '~'",
                                     kMinLetters, kMaxLetters)));
  return text;
}

Result<serve::S3Key> read_s3_key(const std::string& path) {
  const SecretFile file{"--s3-key-file", path};
  H5_ASSIGN(const std::string text, read_secret(file));
  const std::size_t colon = text.find(':');
  const bool printable = std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7F'; });
  if (colon == std::string::npos || colon == 0 || text.size() - colon - 1 < kMinLetters ||
      text.size() > kMaxLetters || !printable)
    return fail(file.bad(
        fmt::format("its first line must be ACCESSKEY:SECRET, the secret of {} characters or more, all "
                    "of at most {}",
                    kMinLetters, kMaxLetters)));
  return serve::S3Key{text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace h5mount::cli

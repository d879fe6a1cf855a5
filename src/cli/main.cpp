// h5mount, and mount.h5 and umount.fuse.h5mount, which are links to it.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

#include "h5mount/base/malloc_limits.h"
#include "h5mount/filter/plugins.h"
#include "mount/mount_command.h"
#include "open/remote_files.h"
#include "run_commands.h"
#include "words/exit_codes.h"

namespace {

using namespace h5mount;
using namespace h5mount::cli;

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

// Closes every descriptor above stderr that is neither among `kept` nor named by the words of the command
// line (/dev/fd/N, /proc/self/fd/N), opens /dev/null in place of each of the first three that is missing, and
// raises the soft limit on descriptors to the hard one. To be called before anything is opened and before
// there are threads.
void tidy_descriptors(int count, const char* const* words, const std::vector<unsigned>& kept) {
  close_others(count, words, kept);
  fill_standard_descriptors();
  raise_descriptor_limit();
}

// Whether the words are those of --diff, whose codes are other ones.
bool names_diff(survive::OwnWords own) {
  const std::span words(own.words, static_cast<std::size_t>(own.count));
  const auto end = std::ranges::find(words, std::string_view("--"));
  return std::any_of(words.begin(), end,
                     [](std::string_view word) { return word == "--diff" || word.starts_with("--diff="); });
}

int run(survive::OwnWords own) {
  const auto keeper = survive::KeeperLink::find(own);
  const auto parsed = parse_command_line(own.count, own.words);
  hide_secrets(own.count, own.words);
  if (!parsed) return print_error("", parsed.error().text(), names_diff(own) ? kExitDiffTrouble : kExitUsage);
  if (const auto* output = std::get_if<TextOutput>(&*parsed)) {
    std::fputs(output->text.c_str(), stdout);
    return 0;
  }
  if (const auto* unmount = std::get_if<UnmountCommand>(&*parsed)) return run_unmount(*unmount);
  if (const auto* front = std::get_if<FrontCommand>(&*parsed))
    return front->kind == FrontCommand::Kind::Diff ? run_diff(*front) : run_front(*front);
  const auto* const serve = std::get_if<ServeCommand>(&*parsed);
  const auto* const mounts = std::get_if<MountCommand>(&*parsed);
  const bool survives = serve != nullptr ? serve->options.survive : mounts->options.survive;
  if (survives && (serve != nullptr ? serve->sources : mounts->sources).far())
    return print_error(
        "", "the option survive is for local files: another server would need the secrets of a URL",
        kExitUsage);
  if (serve != nullptr) return survives && !keeper ? run_keeper(*serve, own) : run_serve(*serve, keeper);
  const MountCommand& mount = *mounts;
  if (mount.options.survive && !mount.check_only && !keeper) return run_keeper(mount, own);
  return run_mount(mount, keeper);
}

}  // namespace

int main(int count, char** words) {
  try {
    if (filter::is_plugin_helper(count, words)) return filter::run_plugin_helper(count, words);
    tidy_descriptors(count, words, survive::handed_descriptors({count, words}));
    limit_malloc();
    const int code = run({count, words});
    finish_remote();
    return code;
  } catch (const std::bad_alloc&) {
    std::fputs("h5mount: out of memory: raise the limit (ulimit -v), or give -o cache_size= a smaller size\n",
               stderr);
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "h5mount: the system refuses a thread or a descriptor (ulimit -u, ulimit -n): %s\n",
                 error.what());
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "h5mount: internal error: %s\n", exception.what());
  } catch (...) {
    std::fputs("h5mount: internal error\n", stderr);
  }
  return names_diff({count, words}) ? kExitDiffTrouble : kExitMountFailed;
}

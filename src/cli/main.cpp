// h5mount, and mount.h5 and umount.fuse.h5mount, which are links to it.
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "front_command.h"
#include "h5mount/base/malloc_limits.h"
#include "h5mount/filter/plugins.h"
#include "keeper_command.h"
#include "mount/mount_command.h"
#include "mount/unmount_command.h"
#include "open/remote_files.h"
#include "process_limits.h"
#include "serve_command.h"
#include "words/exit_codes.h"

namespace {

using namespace h5mount;
using namespace h5mount::cli;

int run(survive::OwnWords own) {
  const auto keeper = survive::KeeperLink::find(own);
  const auto parsed = parse_command_line(own.count, own.words);
  hide_secrets(own.count, own.words);
  if (!parsed) {
    print_error("", parsed.error().text());
    return kExitUsage;
  }
  if (const auto* output = std::get_if<TextOutput>(&*parsed)) {
    std::fputs(output->text.c_str(), stdout);
    return 0;
  }
  if (const auto* unmount = std::get_if<UnmountCommand>(&*parsed)) return run_unmount(*unmount);
  if (const auto* front = std::get_if<FrontCommand>(&*parsed)) return run_front(*front);
  const auto* const serve = std::get_if<ServeCommand>(&*parsed);
  const auto* const mounts = std::get_if<MountCommand>(&*parsed);
  const bool survives = serve != nullptr ? serve->options.survive : mounts->options.survive;
  if (survives && (serve != nullptr ? serve->sources : mounts->sources).far()) {
    print_error("", "the option survive is for local files: another server would need the secrets of a URL");
    return kExitUsage;
  }
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
  return kExitMountFailed;
}

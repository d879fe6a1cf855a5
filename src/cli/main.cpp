// h5mount, and mount.h5 and umount.fuse.h5mount by their names.
#include <cstdio>
#include <exception>

#include "exit_codes.h"
#include "h5mount/filter/plugins.h"
#include "mount_command.h"
#include "process_limits.h"

namespace {

using namespace h5mount;

int run(int count, const char* const* words) {
  const auto parsed = cli::parse_command_line(count, words);
  if (!parsed) {
    cli::tell("", parsed.error().text());
    return cli::kExitUsage;
  }
  if (const auto* told = std::get_if<cli::Told>(&*parsed)) {
    std::fputs(told->text.c_str(), stdout);
    return 0;
  }
  if (const auto* unmount = std::get_if<cli::UnmountCommand>(&*parsed)) return cli::run_unmount(*unmount);
  return cli::run_mount(std::get<cli::MountCommand>(*parsed));
}

}  // namespace

int main(int count, char** words) {
  try {
    if (is_plugin_helper(count, words)) return run_plugin_helper(count, words);
    cli::tidy_descriptors(count, words);
    return run(count, words);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "h5mount: internal error: %s\n", exception.what());
  } catch (...) {
    std::fputs("h5mount: internal error\n", stderr);
  }
  return cli::kExitMountFailed;
}

// fsck.h5
#include <cstdio>
#include <exception>

#include "fsck_command.h"
#include "h5mount/base/malloc_limits.h"
#include "h5mount/filter/plugins.h"
#include "open/remote_files.h"

int main(int count, char** words) {
  using namespace h5mount;
  try {
    if (filter::is_plugin_helper(count, words)) return filter::run_plugin_helper(count, words);
    limit_malloc();
    const int code = cli::run_fsck(count, words);
    cli::finish_remote();
    return code;
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "fsck.h5: internal error: %s\n", exception.what());
  } catch (...) {
    std::fputs("fsck.h5: internal error\n", stderr);
  }
  return cli::kFsckCouldNotRun;
}

#include "force_unmount.h"

#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>

#include "../words/exit_codes.h"
#include "h5mount/base/log.h"
#include "h5mount/base/watchdog.h"

namespace h5mount::cli {

// A forced unmount ends the connection, so that waiting processes get an error; a lazy one works even if
// files are open.
void detach_mount(const std::string& mountpoint) {
  (void)::umount2(mountpoint.c_str(), MNT_FORCE);
  if (::umount2(mountpoint.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0 || errno != EPERM) return;
  std::string program = "fusermount3", place = mountpoint, unmount = "-u", lazy = "-z", quiet = "-q",
              end = "--";
  std::array<char*, 7> words{program.data(), unmount.data(), lazy.data(), quiet.data(),
                             end.data(),     place.data(),   nullptr};
  pid_t child = 0;
  if (::posix_spawnp(&child, program.c_str(), nullptr, nullptr, words.data(), environ) == 0)
    (void)::waitpid(child, nullptr, 0);
}

void end_within(const std::string& mountpoint, std::chrono::milliseconds grace,
                const std::shared_ptr<const std::atomic<bool>>& unmounted) {
  try {
    // The check lives as long as the process. Its last look may wait, as the watchdog has nothing else to do
    // by then.
    new Watchdog::Check(grace, [mountpoint, unmounted, end = Watchdog::Clock::now() + grace](auto now) {
      if (now < end) return true;
      log(LogLevel::Error, "{}: requests that do not end: the mount is ended without them", mountpoint);
      if (!*unmounted) detach_mount(mountpoint);
      ::_exit(kExitMountFailed);
    });
  } catch (const std::exception&) {  // no memory; the kernel ends a mount without a process
    ::signal(SIGALRM, [](int) { ::_exit(kExitMountFailed); });
    ::alarm(static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(grace).count()));
  }
}

}  // namespace h5mount::cli

// The rights that a mount or a server run by root gives up, so that somebody who takes the process over with
// a file gains little: capabilities, new rights by programs, and system calls that serving never makes.
// Mounts of other users give up nothing: they have no rights to lose, and they are unmounted by fusermount3,
// which is setuid.
#pragma once

namespace h5mount::cli {

// Drops root's capabilities except those to mount, to read any file and to unmount; with `plugins` those also
// remain that confine the processes of plugins. To be called before threads are started, as each thread has
// its own capabilities.
void drop_capabilities(bool plugins);

// From now on the calls that start programs, look into other processes, change mounts, the kernel or the
// clock, open sockets to other machines, or set owners and modes fail with EPERM in all threads; umount does
// not. To be called once the mount or the listening socket exists, but not if plugins are used, whose
// processes must be started and confined. `network`: sockets to other machines are allowed, as the mounted
// source is on one.
void refuse_calls(bool network);

}  // namespace h5mount::cli

// What a mount or a server of root's gives up, so that whoever takes the process over with a file gains
// little: capabilities, new rights by programs, and system calls that serving never makes. Other users'
// mounts give up nothing: they have no rights to lose, and their mounts end by fusermount3, which is setuid.
#pragma once

namespace h5mount::cli {

// Of root's capabilities those remain that mount, read any file and unmount; with `plugins` also those that
// confine the processes of plugins. To be called before there are threads: they are each thread's own.
void drop_capabilities(bool plugins);

// From here on the calls that start programs, look into other processes, change mounts, the kernel or the
// clock, open sockets to other machines, or set owners and modes fail with EPERM, in all threads; umount does
// not. To be called once the mount or the listening socket is there; not where plugins are used, whose
// processes must be started and confined.
// `network`: sockets to other machines are allowed, as what is mounted lies on one.
void refuse_calls(bool network);

}  // namespace h5mount::cli

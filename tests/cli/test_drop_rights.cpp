#include "mount/drop_rights.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>

namespace h5mount::cli {
namespace {

bool is_refused(const std::function<long()>& call) {
  errno = 0;
  return call() < 0 && errno == EPERM;
}

// Restricts the calling process, and returns the number of the first thing that is wrong then; 0: nothing is.
int first_wrong() {
  int other = 0, copy = 1;
  const iovec from{&other, sizeof other}, to{&copy, sizeof copy};
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  char program[] = "/bin/true";
  char* const words[] = {program, nullptr};
  std::atomic<bool> restricted = false, earlier_is_restricted = false;
  std::thread earlier([&] {
    while (!restricted) std::this_thread::yield();
    earlier_is_restricted = is_refused([] { return ::socket(AF_INET, SOCK_STREAM, 0); });
  });
  refuse_calls(false);
  restricted = true;
  earlier.join();
  if (!earlier_is_restricted) return 1;
  if (!is_refused([&] { return ::execve(program, words, nullptr); })) return 2;
  if (!is_refused([] { return ::socket(AF_INET6, SOCK_DGRAM, 0); })) return 3;
  if (!is_refused([&] { return ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0); })) return 4;
  if (!is_refused([] { return ::mount("none", "/nowhere", "tmpfs", 0, nullptr); })) return 5;
  if (!is_refused([&] { return ::fchmod(null, 0600); })) return 6;
  if (!is_refused([] { return ::chmod("/nowhere", 0600); })) return 7;
  if (!is_refused([] { return ::mknod("/nowhere/device", S_IFCHR | 0600, 0); })) return 8;
  // What serving does.
  if (::socket(AF_UNIX, SOCK_DGRAM, 0) < 0) return 20;
  if (::umount2("/nowhere", MNT_DETACH) == 0 || errno != ENOENT) return 21;
  if (::open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) return 22;
  return 0;
}

// The same of a process whose source lies on a server.
int first_wrong_with_network() {
  refuse_calls(true);
  for (const int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK})
    if (::socket(family, SOCK_DGRAM, 0) < 0 && errno == EPERM) return 1;
  for (const int family : {AF_UNSPEC, AF_PACKET, AF_VSOCK, AF_ALG, AF_BLUETOOTH, AF_X25, AF_BRIDGE})
    if (!is_refused([&] { return ::socket(family, SOCK_DGRAM, 0); })) return 2;
  char program[] = "/bin/true";
  char* const words[] = {program, nullptr};
  if (!is_refused([&] { return ::execve(program, words, nullptr); })) return 3;
  return 0;
}

int exit_code_of(int (*first)()) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(first());
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(DropRights, WhatServingNeverDoesIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root's processes restrict themselves";
  EXPECT_EQ(exit_code_of(first_wrong), 0);
}

TEST(DropRights, WhatFetchingNeedsIsAllowedAndNoMore) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root's processes restrict themselves";
  EXPECT_EQ(exit_code_of(first_wrong_with_network), 0);
}

}  // namespace
}  // namespace h5mount::cli

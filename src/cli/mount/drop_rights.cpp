#include "drop_rights.h"

#include <linux/capability.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

#include "h5mount/base/log.h"

namespace h5mount::cli {
namespace {

// A leak sanitizer uses ptrace when the process ends.
#if defined(__has_feature)
constexpr bool kTraced = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kTraced = true;
#else
constexpr bool kTraced = false;
#endif

constexpr int kRefused[] = {
    // programs and other processes
    SCMP_SYS(execve),
    SCMP_SYS(execveat),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(kcmp),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(perf_event_open),
    // mounts, except the end of this one
    SCMP_SYS(mount),
    SCMP_SYS(move_mount),
    SCMP_SYS(open_tree),
    SCMP_SYS(fsopen),
    SCMP_SYS(fsconfig),
    SCMP_SYS(fspick),
    SCMP_SYS(fsmount),
    SCMP_SYS(mount_setattr),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(unshare),
    SCMP_SYS(setns),
    // files by other ways than their names
    SCMP_SYS(open_by_handle_at),
    // devices, owners and modes
    SCMP_SYS(mknod),
    SCMP_SYS(mknodat),
    SCMP_SYS(chmod),
    SCMP_SYS(fchmod),
    SCMP_SYS(fchmodat),
    SCMP_SYS(chown),
    SCMP_SYS(lchown),
    SCMP_SYS(fchown),
    SCMP_SYS(fchownat),
    // the kernel
    SCMP_SYS(bpf),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(reboot),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(quotactl),
    SCMP_SYS(acct),
    SCMP_SYS(add_key),
    SCMP_SYS(keyctl),
    SCMP_SYS(request_key),
    SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(settimeofday),
    SCMP_SYS(adjtimex),
    SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname),
};

std::uint64_t bit(int capability) {
  return std::uint64_t{1} << capability;
}

// CAP_SYS_ADMIN is for umount. Of the wanted capabilities only those are kept that the process has.
// Containers often lack the right to read any file but have the right to write any file, which includes it.
std::uint64_t needed(std::uint64_t held, bool plugins) {
  std::uint64_t wanted = bit(CAP_SYS_ADMIN) | bit(CAP_DAC_READ_SEARCH);
  if ((held & bit(CAP_DAC_READ_SEARCH)) == 0) wanted |= bit(CAP_DAC_OVERRIDE);
  if (plugins) wanted |= bit(CAP_SETUID) | bit(CAP_SETGID) | bit(CAP_KILL);
  return held & wanted;
}

}  // namespace

void drop_capabilities(bool plugins) {
  if (::geteuid() != 0) return;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    log(LogLevel::Warning, "no_new_privs cannot be set: {}", std::strerror(errno));
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  bool dropped = ::syscall(SYS_capget, &header, sets.data()) == 0;
  if (dropped) {
    const std::uint64_t kept = needed(sets[0].permitted | std::uint64_t{sets[1].permitted} << 32, plugins);
    for (unsigned half = 0; half < sets.size(); ++half) {
      const auto bits = static_cast<std::uint32_t>(kept >> (32 * half));
      sets[half] = {.effective = bits, .permitted = bits, .inheritable = 0};
    }
    dropped = ::syscall(SYS_capset, &header, sets.data()) == 0;
  }
  if (!dropped) log(LogLevel::Warning, "capabilities cannot be dropped: {}", std::strerror(errno));
}

void refuse_calls(bool network) {
  if (::geteuid() != 0) return;
  const std::unique_ptr<void, decltype(&::seccomp_release)> filter(::seccomp_init(SCMP_ACT_ALLOW),
                                                                   ::seccomp_release);
  bool made = filter != nullptr;
  const auto refuse = [&](int call) {
    // A negative number is a call that this architecture does not have.
    made = made && (call < 0 || ::seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), call, 0) == 0);
  };
  for (const int call : kRefused) refuse(call);
  if (!kTraced) refuse(SCMP_SYS(ptrace));
  const auto refuse_where = [&](int call, scmp_arg_cmp condition) {
    made = made && ::seccomp_rule_add_array(filter.get(), SCMP_ACT_ERRNO(EPERM), call, 1, &condition) == 0;
  };
  // The log's socket is local. Names are looked up with a socket that asks for this machine's addresses.
  if (!network) {
    refuse_where(SCMP_SYS(socket), SCMP_A0_64(SCMP_CMP_NE, AF_UNIX));
  } else {
    constexpr std::uint64_t kAllowed[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    for (std::uint64_t family = 0; family < AF_NETLINK; ++family)
      if (std::ranges::find(kAllowed, family) == std::end(kAllowed))
        refuse_where(SCMP_SYS(socket), SCMP_A0_64(SCMP_CMP_EQ, family));
    refuse_where(SCMP_SYS(socket), SCMP_A0_64(SCMP_CMP_GT, AF_NETLINK));
  }
  made = made && ::seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0 &&
         ::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1) == 0 && ::seccomp_load(filter.get()) == 0;
  if (!made) log(LogLevel::Warning, "system calls cannot be restricted");
}

}  // namespace h5mount::cli

#include "confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <iterator>
#include <vector>

namespace h5mount::filter {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;  // unknown architecture: confine fails
#endif

constexpr unsigned kAllowed[] = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,  // the socket
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_brk,
    SYS_madvise,  // memory
    SYS_futex,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_sched_yield,
    SYS_sched_getaffinity,  // threads
    SYS_gettid,
    SYS_getpid,
    SYS_exit,
    SYS_exit_group,
    SYS_tgkill,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_clock_gettime,
    SYS_gettimeofday,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_setitimer,
    SYS_getrandom,
};

sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
sock_filter give(std::uint32_t action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}

// One comparison per allowed call, in order. Threads may be created, processes not.
std::vector<sock_filter> program() {
  std::vector<sock_filter> out;
  out.push_back(load(offsetof(seccomp_data, arch)));
  out.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  out.push_back(give(SECCOMP_RET_KILL_PROCESS));
  out.push_back(load(offsetof(seccomp_data, nr)));
  for (const unsigned number : kAllowed) {
    out.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    out.push_back(give(SECCOMP_RET_ALLOW));
  }
  // clone3 fails with ENOSYS: the C library falls back to clone, whose flags the filter can examine.
  out.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1));
  out.push_back(give(SECCOMP_RET_ERRNO | ENOSYS));
  out.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
  out.push_back(load(offsetof(seccomp_data, args[0])));
  out.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1));
  out.push_back(give(SECCOMP_RET_ALLOW));
  out.push_back(give(SECCOMP_RET_ERRNO | EPERM));
  return out;
}

bool limit(__rlimit_resource what, std::uint64_t most) {
  const rlimit bound{most, most};
  return ::setrlimit(what, &bound) == 0;
}

// Bytes of address space that are mapped now.
std::uint64_t mapped_bytes() {
  unsigned long long pages = 0;
  if (std::FILE* const f = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(f, "%llu", &pages) != 1) pages = 0;
    std::fclose(f);
  }
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void close_all_else() {
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
}

bool confine(std::uint64_t memory) {
  if (kArchitecture == 0) return false;
  const std::uint64_t mapped = mapped_bytes();
  if (mapped == 0 || !limit(RLIMIT_CORE, 0) || !limit(RLIMIT_FSIZE, 0)) return false;
#if !defined(__SANITIZE_ADDRESS__)  // the sanitizer's shadow memory exceeds any bound
  if (!limit(RLIMIT_AS, mapped + memory)) return false;
#endif
  close_all_else();
  if (!limit(RLIMIT_NOFILE, 3)) return false;
  std::vector<sock_filter> calls = program();
  const sock_fprog all{static_cast<unsigned short>(calls.size()), calls.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

}  // namespace h5mount::filter

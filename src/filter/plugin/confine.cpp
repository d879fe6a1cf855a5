#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

namespace h5mount::filter {

namespace {

using CallFilter = std::unique_ptr<void, decltype(&::seccomp_release)>;

constexpr int kAllowed[] = {
    // the socket
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    // memory
    SCMP_SYS(mmap),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(mprotect),
    SCMP_SYS(brk),
    SCMP_SYS(madvise),
    // threads
    SCMP_SYS(futex),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(gettid),
    // end of threads, signals
    SCMP_SYS(getpid),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall),
    // time
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(setitimer),
    // hash seeds
    SCMP_SYS(getrandom),
};

// Allows the calls above, and new threads but no processes: clone3 fails with ENOSYS, as a filter cannot
// read its flags in memory, so that the C library falls back to clone, whose flags are in a register.
bool allow_calls(scmp_filter_ctx filter) {
  for (const int call : kAllowed)
    if (::seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0) != 0) return false;
  const scmp_arg_cmp makes_thread = SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);
  const scmp_arg_cmp this_process = SCMP_A0_64(SCMP_CMP_EQ, static_cast<std::uint64_t>(::getpid()));
  return ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0 &&
         ::seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, &makes_thread) == 0 &&
         ::seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, &this_process) == 0;
}

// Allows the calls that the dynamic loader and the second restriction need too; files are opened for reading
// only.
bool allow_loading(scmp_filter_ctx filter) {
  constexpr int kLoading[] = {
      SCMP_SYS(close),       SCMP_SYS(fstat),   SCMP_SYS(newfstatat), SCMP_SYS(pread64), SCMP_SYS(lseek),
      SCMP_SYS(readlink),    SCMP_SYS(access),  SCMP_SYS(getcwd),     SCMP_SYS(uname),   SCMP_SYS(prlimit64),
      SCMP_SYS(close_range), SCMP_SYS(seccomp), SCMP_SYS(prctl),
  };
  for (const int call : kLoading)
    if (::seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0) != 0) return false;
  constexpr std::uint64_t kWrites = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | O_PATH;
  const scmp_arg_cmp openat_reads = SCMP_A2_64(SCMP_CMP_MASKED_EQ, kWrites, O_RDONLY);
  const scmp_arg_cmp open_reads = SCMP_A1_64(SCMP_CMP_MASKED_EQ, kWrites, O_RDONLY);
  return ::seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, &openat_reads) == 0 &&
         ::seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1, &open_reads) == 0;
}

// Calls by another architecture's numbers end the process; all calls that no rule allows fail with EPERM.
bool restrict_calls(bool loads) {
  const CallFilter filter(::seccomp_init(SCMP_ACT_ERRNO(EPERM)), ::seccomp_release);
  return filter && ::seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0 &&
         allow_calls(filter.get()) && (!loads || allow_loading(filter.get())) &&
         ::seccomp_load(filter.get()) == 0;  // this sets no_new_privs
}

bool limit(__rlimit_resource what, std::uint64_t most) {
  const rlimit bound{most, most};
  return ::setrlimit(what, &bound) == 0;
}

// Leaves the machine's network and System V IPC. Not all systems allow this; the restriction of calls
// suffices without it.
void leave_namespaces() {
  constexpr int kOwn = CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
  if (::unshare(kOwn) != 0) (void)::unshare(CLONE_NEWUSER | kOwn);
}

// Takes the rights of nobody, if this process is root's.
bool leave_user() {
  constexpr uid_t kNobody = 65'534;
  if (::geteuid() != 0) return true;
  if (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
      ::setresuid(kNobody, kNobody, kNobody) != 0)
    return false;
  // Without this, /proc/self could not be read any more.
  return ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

// The number of bytes of address space that are mapped now.
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
  const std::uint64_t mapped = mapped_bytes();
  if (mapped == 0 || !limit(RLIMIT_CORE, 0) || !limit(RLIMIT_FSIZE, 0)) return false;
#if !defined(__SANITIZE_ADDRESS__)  // the sanitizer's shadow memory exceeds any bound
  if (!limit(RLIMIT_AS, mapped + memory)) return false;
#endif
  close_all_else();
  if (!limit(RLIMIT_NOFILE, 3)) return false;
  return restrict_calls(false);
}

bool confine_loading(std::uint64_t memory) {
  // Memory for libraries that a plugin needs.
  constexpr std::uint64_t kLibraries = std::uint64_t{1} << 30;
  const std::uint64_t mapped = mapped_bytes();
  if (mapped == 0 || !limit(RLIMIT_CORE, 0) || !limit(RLIMIT_FSIZE, 0)) return false;
#if !defined(__SANITIZE_ADDRESS__)
  if (!limit(RLIMIT_AS, mapped + memory + kLibraries)) return false;
#endif
  leave_namespaces();
  return leave_user() && restrict_calls(true);
}

}  // namespace h5mount::filter

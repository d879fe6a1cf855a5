#include "cures.h"

#include <cerrno>

namespace h5mount::cli {
namespace {

std::string_view cure_of_system_error(int why) {
  switch (why) {
    case EIO:
      return "the device did not give it: see the kernel's log (dmesg), and go on with a copy of the file";
    case ENOSPC:
    case EDQUOT:
      return "make room and run the same command again";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    case ENOMEM:
      return "end other programs, or use less with cache_size=";
    case EACCES:
    case EPERM:
      return "run it as a user who may, or name another place";
    case EROFS:
    case EOPNOTSUPP:
      return "name a place on another file system";
    default:
      return {};
  }
}

}  // namespace

std::string_view cure_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::FilterFailed:
      return "what its other chunks hold can be read in parts, as with /.h5/slice";
    case ErrorCode::LimitExceeded:
    case ErrorCode::BudgetExceeded:
      return "that is beyond what h5mount does for a file (LIMITS in man h5mount)";
    case ErrorCode::OutOfMemory:
      return "h5mount's option cache_size= with a larger size allows more";
    case ErrorCode::Stale:
      return "run the command again when nobody writes to the file";
    case ErrorCode::Internal:
      return "this is a fault of h5mount: please report it";
    case ErrorCode::Io:
      return cure_of_system_error(error.errno_value());
    default:
      return {};
  }
}

std::string_view Cures::next(const Error& error) {
  const std::string_view cure = cure_of(error);
  return told_.insert(cure).second ? cure : std::string_view();
}

}  // namespace h5mount::cli

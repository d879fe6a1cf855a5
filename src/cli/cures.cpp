#include "cures.h"

#include <fmt/format.h>

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

std::string_view cure_by_salvage(const Error& error, SalvageMode mode) {
  const salvage::Help help = salvage::help_for(error);
  if (help == salvage::Help::Shows && mode == SalvageMode::Off)
    return "h5mount -o salvage shows what can still be known of a damaged file";
  if (help == salvage::Help::Fills && mode != SalvageMode::Fill)
    return "h5mount -o salvage=fill gives the fill value for what is gone";
  return {};
}

}  // namespace

std::string_view cure_of(const Error& error, SalvageMode salvage) {
  if (error.code() == ErrorCode::FilterFailed)
    return salvage == SalvageMode::Fill
               ? "what its other chunks hold can be read in parts, as with /.h5/slice"
               : "what its other chunks hold can be read in parts, as with /.h5/slice, or h5mount -o "
                 "salvage=fill gives the fill value for this one";
  if (const std::string_view cure = cure_by_salvage(error, salvage); !cure.empty()) return cure;
  switch (error.code()) {
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
  const std::string_view cure = cure_of(error, salvage_);
  return told_.insert(cure).second ? cure : std::string_view();
}

Error with_salvage_named(const Error& error, const Error& shown, SalvageMode salvage) {
  const std::string_view cure = cure_by_salvage(error, salvage);
  return cure.empty() ? shown : Error(shown.code(), fmt::format("{}; {}", shown.text(), cure));
}

}  // namespace h5mount::cli

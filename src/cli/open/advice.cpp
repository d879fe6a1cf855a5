#include "advice.h"

#include <fmt/format.h>

#include <cerrno>

namespace h5mount::cli {
namespace {

std::string_view cure_of_system_error(int why) {
  switch (why) {
    case ENOSPC:
    case EDQUOT:
      return "make room and run the same command again";
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

std::string_view cure_for_command(const Error& error) {
  if (const std::string_view cure = cure_of(error); !cure.empty()) return cure;
  switch (error.code()) {
    case ErrorCode::Stale:
      return "run the command again when nobody writes to the file";
    case ErrorCode::Io:
      return cure_of_system_error(error.system_errno());
    default:
      return {};
  }
}

std::string_view Cures::next(const Error& error) {
  const std::string_view cure = cure_for_command(error);
  return told_.insert(cure).second ? cure : std::string_view();
}

Error with_salvage_named(const Error& error, const Error& shown) {
  const std::string_view cure = salvage_cure_of(error);
  return cure.empty() ? shown : Error(shown.code(), fmt::format("{}; {}", shown.text(), cure));
}

}  // namespace h5mount::cli

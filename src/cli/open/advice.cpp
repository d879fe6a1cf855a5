#include "advice.h"

#include <fmt/format.h>

#include <cerrno>

namespace h5mount::cli {
namespace {

std::string_view advice_on_writing(int why) {
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

std::string_view advice_for_command(const Error& error) {
  if (const std::string_view advice = advice_on(error); !advice.empty()) return advice;
  switch (error.code()) {
    case ErrorCode::Stale:
      return "run the command again when nobody writes to the file";
    case ErrorCode::Io:
      return advice_on_writing(error.system_errno());
    default:
      return {};
  }
}

std::string_view AdviceOnce::next(const Error& error) {
  const std::string_view advice = advice_for_command(error);
  return told_.insert(advice).second ? advice : std::string_view();
}

Error with_salvage_named(const Error& error, const Error& shown) {
  const std::string_view advice = salvage_advice_on(error);
  return advice.empty() ? shown : Error(shown.code(), fmt::format("{}; {}", shown.text(), advice));
}

}  // namespace h5mount::cli

#include "message.h"

#include <cerrno>

#include "fields.h"
#include "h5mount/base/cures.h"
#include "h5mount/base/log.h"

namespace h5mount::serve {
namespace {

unsigned status_of(const Error& error) {
  if (is_held_by_writer(error)) return 503;
  switch (error.code()) {
    case ErrorCode::NotFound:
      return 404;
    case ErrorCode::AccessDenied:
      return 403;
    case ErrorCode::UnsupportedFeature:
    case ErrorCode::UnsupportedVersion:
      return 501;
    case ErrorCode::Stale:
    case ErrorCode::OutOfMemory:
      return 503;
    case ErrorCode::TimedOut:
      return 504;
    default:
      return 500;
  }
}

}  // namespace

std::optional<std::string> Request::header(std::string_view name) const {
  std::optional<std::string> out;
  for (const auto& [field, value] : headers) {
    if (!equals_ignoring_case(field, name)) continue;
    if (out)
      *out += ", " + value;
    else
      out = value;
  }
  return out;
}

std::size_t Request::count(std::string_view name) const {
  std::size_t out = 0;
  for (const auto& [field, value] : headers)
    if (equals_ignoring_case(field, name)) ++out;
  return out;
}

bool is_held_by_writer(const Error& error) {
  return error.system_errno() == EBUSY;
}

Error of_found(const Error& error) {
  return error.code() == ErrorCode::NotFound ? Error(ErrorCode::Io, error.text()) : error;
}

Answer plain_answer(unsigned status, std::string_view text) {
  Answer out;
  out.status = status;
  out.add("Content-Type", "text/plain; charset=utf-8");
  out.add("Cache-Control", "no-store");
  out.problem = text;
  out.body = make_text_body(escape_for_log(text) + "\n");
  return out;
}

Answer error_answer(const Error& error, std::string_view text) {
  Answer out = plain_answer(status_of(error), text);
  if (out.status == 503) out.add("Retry-After", "1");
  return out;
}

Answer error_answer(const Error& error) {
  return error_answer(error, text_with_cure(error));
}

}  // namespace h5mount::serve

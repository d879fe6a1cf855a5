#include "message.h"

#include <algorithm>
#include <cerrno>

#include "fields.h"
#include "h5mount/base/advice.h"
#include "h5mount/base/log.h"
#include "h5mount/base/text.h"

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

Request::Request(std::string method_sent, std::string target_sent, std::vector<Header> fields)
    : method(std::move(method_sent)),
      uri(std::move(target_sent)),
      headers(std::move(fields)),
      target(parse_target(uri)) {
  const auto field = [this](std::string_view name) {
    std::optional<std::string> out;
    for (const auto& [key, value] : headers)
      if (equals_ignoring_case(key, name)) out = out ? *out + ", " + value : value;
    return out;
  };
  const std::optional<std::string> accept = field("Accept");
  host = trim(target && !target->authority.empty() ? target->authority : field("Host").value_or(""));
  several_hosts = std::ranges::count_if(headers, [](const Header& header) {
                    return equals_ignoring_case(header.first, "Host");
                  }) > 1;
  has_body = field("Transfer-Encoding") || field("Content-Length").value_or("0") != "0";
  authorization = field("Authorization");
  cookie = field("Cookie");
  origin = field("Origin");
  range = field("Range");
  conditions = {field("If-Match"), field("If-None-Match"), field("If-Modified-Since"),
                field("If-Unmodified-Since"), field("If-Range")};
  accepts_gzip = serve::accepts_gzip(field("Accept-Encoding"));
  names_html = names_type(accept, "text/html");
  prefers_json = names_type(accept, "application/json") &&
                 accept_weight(accept, "application/json") >= accept_weight(accept, "text/html");
  from_fetch = field("Sec-Fetch-Mode").has_value();
  names_program = field("User-Agent").has_value();
  asks_for_private_network = field("Access-Control-Request-Private-Network") == "true";
}

bool is_held_by_writer(const Error& error) {
  return error.system_errno() == EBUSY;
}

Error of_found(const Error& error) {
  return error.code() == ErrorCode::NotFound ? Error(ErrorCode::Io, error.text()) : error;
}

Answer uncached_answer(std::string_view type, BodyPtr body) {
  Answer out;
  out.add("Content-Type", std::string(type));
  out.add("Cache-Control", "no-store");
  out.body = std::move(body);
  return out;
}

Answer plain_answer(unsigned status, std::string_view text) {
  Answer out = uncached_answer("text/plain; charset=utf-8", make_text_body(escape_for_log(text) + "\n"));
  out.status = status;
  out.problem = text;
  return out;
}

Answer error_answer(const Error& error, std::string_view text) {
  Answer out = plain_answer(status_of(error), text);
  if (out.status == 503) out.add("Retry-After", "1");
  return out;
}

Answer error_answer(const Error& error) {
  return error_answer(error, text_with_advice(error));
}

}  // namespace h5mount::serve

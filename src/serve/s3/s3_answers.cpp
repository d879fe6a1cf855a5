#include "s3_answers.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>

#include "h5mount/base/utf8.h"

namespace h5mount::serve {
namespace {

constexpr unsigned kFirstS3Error = 400;

std::string_view code_of(unsigned status) {
  switch (status) {
    case 400:
      return "InvalidRequest";
    case 403:
      return "AccessDenied";
    case 404:
      return "NoSuchKey";
    case 405:
      return "MethodNotAllowed";
    case 412:
      return "PreconditionFailed";
    case 416:
      return "InvalidRange";
    case 501:
      return "NotImplemented";
    case 503:
      return "SlowDown";
    default:
      return "InternalError";
  }
}

// Whether an XML document may contain the character, which is below U+0080.
bool is_xml_ascii(char c) {
  return (c >= ' ' && c < '\x7F') || c == '\t' || c == '\n' || c == '\r';
}

std::string_view entity_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\t':
      return "&#9;";
    case '\n':
      return "&#10;";
    case '\r':
      return "&#13;";
    default:
      return {};
  }
}

}  // namespace

std::string escape_xml(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = utf8_length(text);
    if (static_cast<unsigned char>(c) < 0x80) {
      const std::string_view entity = entity_of(c);
      if (!is_xml_ascii(c))
        out += kReplacement;
      else if (entity.empty())
        out += c;
      else
        out += entity;
      text.remove_prefix(1);
      continue;
    }
    // U+FFFE and U+FFFF are not characters of XML either.
    const std::string_view whole = text.substr(0, length);
    const bool shown = length > 0 && whole != "\xEF\xBF\xBE" && whole != "\xEF\xBF\xBF";
    out += shown ? whole : kReplacement;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string xml_element(std::string_view name, std::string_view text) {
  return fmt::format("<{0}>{1}</{0}>", name, escape_xml(text));
}

std::string xml_date(std::int64_t seconds_since_1970) {
  const std::time_t time = seconds_since_1970;
  std::tm parts = {};
  ::gmtime_r(&time, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.000Z", parts);
}

Answer xml_answer(std::string text) {
  Answer out;
  out.add("Content-Type", "application/xml");
  out.body = make_text_body("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + std::move(text));
  return out;
}

Answer s3_error_answer(const S3Error& error, std::string_view resource) {
  Answer out =
      xml_answer(fmt::format("<Error>{}{}{}</Error>", xml_element("Code", error.code),
                             xml_element("Message", error.message), xml_element("Resource", resource)));
  out.status = error.status;
  out.problem = error.message;
  if (error.status == 503) out.add("Retry-After", "1");
  return out;
}

Answer as_s3_answer(Answer answer, std::string_view resource) {
  if (answer.status < kFirstS3Error) return answer;
  Answer out = s3_error_answer({answer.status, code_of(answer.status), answer.problem}, resource);
  const auto range = std::ranges::find(answer.headers, std::string_view("Content-Range"), &Header::first);
  if (range != answer.headers.end()) out.add(range->first, range->second);
  return out;
}

Answer s3_error_answer(const Error& error, std::string_view resource) {
  return as_s3_answer(error_answer(error), resource);
}

}  // namespace h5mount::serve

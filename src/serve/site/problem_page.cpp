#include "problem_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "../http/url.h"

namespace h5mount::serve {
namespace {

constexpr unsigned kFirstError = 400;

std::string_view title_of(unsigned status) {
  switch (status) {
    case 403:
      return "Not shown";
    case 404:
      return "Not found";
    case 501:
      return "Cannot be read by this build";
    default:
      return "Cannot be shown";
  }
}

}  // namespace

Answer problem_answer(const Request& request, Answer answer, std::string_view path, const std::string& root) {
  if (answer.status < kFirstError || answer.problem.empty() || !request.names_html) return answer;
  // If the path ends in `/`, the directory above it is `../`.
  const std::string_view up = path.size() > 1 && path.ends_with('/') ? "../" : "./";
  answer.body = make_text_body(fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"color-scheme\" "
      "content=\"light dark\"><title>{0}</title></head>\n<body>\n"
      "<h1>{0}</h1>\n<p>Asked for: <code>{1}</code></p>\n<p>{2}</p>\n"
      "<p><a href=\"{3}\">Back to its group</a>, or <a href=\"{4}\">to the root</a></p>\n</body></html>\n",
      title_of(answer.status), escape_html(path), escape_html(answer.problem), up, root));
  const auto type = std::ranges::find(answer.headers, std::string_view("Content-Type"), &Header::first);
  if (type != answer.headers.end()) type->second = "text/html; charset=utf-8";
  answer.add("Vary", "Accept");
  return answer;
}

}  // namespace h5mount::serve

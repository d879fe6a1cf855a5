#include "page_answers.h"

#include <fmt/format.h>

#include <algorithm>

#include "../http/representation.h"
#include "../http/url.h"
#include "assets.h"
#include "h5mount/base/deflate.h"
#include "h5mount/base/hash.h"
#include "h5mount/base/uri.h"

namespace h5mount::serve {
namespace {

constexpr std::string_view kCompressed = ".gz";

const Asset* find_asset(std::string_view name) {
  const auto assets = page_assets();
  const auto found = std::ranges::find(assets, name, &Asset::name);
  return found == assets.end() ? nullptr : &*found;
}

// Replaces all occurrences of a placeholder.
std::string filled(std::string text, std::string_view name, std::string_view value) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size()))
    text.replace(at, name.size(), value);
  return text;
}

std::string_view media_type(std::string_view name) {
  return name.ends_with(".js")    ? "text/javascript; charset=utf-8"
         : name.ends_with(".css") ? "text/css; charset=utf-8"
                                  : "text/plain; charset=utf-8";
}

// A text that differs if the page's files differ.
const std::string& page_build() {
  static const std::string build = [] {
    std::uint64_t sum = 0;
    for (const Asset& asset : page_assets()) sum = sum * 31 + fnv1a(asset.content);
    return fmt::format("{:x}", sum);
  }();
  return build;
}

}  // namespace

bool has_page() {
  return find_asset("page.js.gz") != nullptr;
}

Answer page_answer(const Request& request, const PagePlace& place, RequestWork& work) {
  const std::string name = escape_html(place.name);
  std::string text(find_asset("page.html")->content);
  // The name and the path are filled in last, as a file determines them and they may look like a placeholder.
  text = filled(std::move(text), "{root}", place.root);
  text = filled(std::move(text), "{plain}", escape_html(place.plain));
  text = filled(std::move(text), "{file}", place.named ? " data-named" : "");
  text = filled(std::move(text), "{build}", page_build());
  const std::string query = place.named ? "?file=" + encode_component(place.name) : std::string();
  text = filled(std::move(text), "{version}", place.root + ".h5/api/version" + query);
  const std::string marked = fmt::format(" data-name=\"{}\" data-path=\"{}\"", name, escape_html(place.path));
  text = filled(std::move(text), "{place}", marked);
  const std::string etag = fmt::format("\"{:x}\"", fnv1a(text));
  return listing_answer(request, make_text_body(std::move(text)), false, etag, work);
}

Answer asset_answer(const Request& request, std::string_view name, std::string_view build) {
  const Asset* const asset = find_asset(std::string(name) + std::string(kCompressed));
  if (asset == nullptr) return plain_answer(404, "no such file");
  const bool compress = request.accepts_gzip;
  const Validators validators{fmt::format("\"{:x}{}\"", fnv1a(asset->content), compress ? "z" : ""),
                              std::nullopt, false};
  Answer out;
  if (auto instead = conditional_answer(request, validators)) {
    out = *std::move(instead);
  } else {
    add_validators(validators, out);
    out.add("Content-Type", std::string(media_type(name)));
    if (compress) out.add("Content-Encoding", "gzip");
    out.body = make_text_body(compress ? std::string(asset->content)
                                       : from_gzip(asset->content).value_or(std::string()));
  }
  out.add("Vary", "Accept-Encoding");
  if (build == page_build())
    for (Header& header : out.headers)
      if (header == Header("Cache-Control", "no-cache")) header.second = "max-age=31536000, immutable";
  return out;
}

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

#include "site.h"

#include <fmt/format.h>

#include <algorithm>

#include "fields.h"
#include "h5mount/front/path_walk.h"
#include "host.h"
#include "listing.h"
#include "node_answers.h"
#include "url.h"

namespace h5mount::serve {
namespace {

constexpr std::string_view kMethods = "GET, HEAD, OPTIONS";

// What a page may load: its own script and style, and the data of this server. Other answers are never
// rendered.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// The root of several sources for the page, in the form of describe_node.
constexpr std::string_view kRootDescription =
    R"({"path":"/","href":"/","type":"directory","size":0,"mtime":0,)"
    R"("xattrs":{},"errors":{},"cut":{},"views":[]})"
    "\n";

// The names of the sources in the root: equal ones get ` (2)`, ` (3)`…
std::vector<std::string> distinct_names(const std::vector<Source>& sources) {
  std::vector<std::string> out;
  for (const Source& source : sources) {
    std::string name = source.name;
    for (unsigned i = 2; std::ranges::find(out, name) != out.end(); ++i)
      name = fmt::format("{} ({})", source.name, i);
    out.push_back(name);
  }
  return out;
}

}  // namespace

Site::Site(SiteOptions options, std::vector<Source> sources)
    : options_(std::move(options)),
      token_(options_.token, options_.port),
      names_(distinct_names(sources)) {
  for (Source& source : sources) sources_.push_back(std::make_unique<ServedSource>(std::move(source)));
}

bool Site::reads(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS";
}

Answer Site::answer(const Request& request) {
  Answer out = answer_valid(request);
  add_common(request, out);
  return out;
}

Answer Site::answer_valid(const Request& request) {
  if (!reads(request.method)) {
    Answer out = plain_answer(405, "read-only: GET, HEAD and OPTIONS");
    out.add("Allow", std::string(kMethods));
    return out;
  }
  const auto target = parse_target(request.target);
  const bool everything = request.method == "OPTIONS" && request.target == "*";
  if (!target && !everything) return plain_answer(400, "the target is no path");
  if (request.count("Host") > 1) return plain_answer(400, "more than one Host field");
  const std::string host = target && !target->authority.empty()
                               ? target->authority
                               : request.header("Host").value_or(std::string());
  if (options_.loopback && !is_loopback_host(trimmed(host)))
    return plain_answer(421, "this server is on a loopback address: Host must be localhost");
  if (request.method == "OPTIONS") {
    Answer out;
    out.status = 204;
    out.add("Allow", std::string(kMethods));
    return out;
  }
  if (auto instead = token_.answer_instead(request, *target)) return *std::move(instead);
  return answer_at(request, target->path, target->query);
}

std::optional<Site::Place> Site::place_of(const std::string& path) {
  if (sources_.size() == 1) return Place{sources_.front().get(), "", path};
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string name = path.substr(0, end);
  if (name.empty() && path.size() <= 1) return Place{};
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) return std::nullopt;
  const auto index = static_cast<std::size_t>(found - names_.begin());
  // Without the slash the path is the directory's without one, which is redirected.
  return Place{sources_[index].get(), "/" + encode_segment(name),
               end < path.size() ? path.substr(end + 1) : "."};
}

Answer Site::answer_sources(const Request& request, std::string_view query) const {
  if (query_parameter(query, "describe")) {
    return listing_answer(request, make_text_body(std::string(kRootDescription)), true, {});
  }
  const DirectoryForm form = directory_form(request, query);
  if (form == DirectoryForm::Page) return page_answer(request);
  const bool json = form == DirectoryForm::Json;
  return listing_answer(request, make_name_listing(names_, json ? ListingForm::Json : ListingForm::Html),
                        json, {});
}

Answer Site::answer_at(const Request& request, std::string_view path, std::string_view query) {
  const auto decoded = decode_path(path);
  if (!decoded) return plain_answer(path.find('%') == std::string_view::npos ? 400 : 404, "no such path");
  if (const auto asset = query_parameter(query, "asset"); asset && path == "/")
    return asset_answer(request, *asset);
  const auto place = place_of(without_dot_segments(*decoded).substr(1));
  if (!place) return plain_answer(404, "no such source");
  if (place->source == nullptr) return answer_sources(request, query);
  const auto snapshot = place->source->current();
  if (!snapshot) {
    Answer out = plain_answer(503, snapshot.error().text());
    out.add("Retry-After", "1");
    return out;
  }
  auto found = front::find_path((*snapshot)->tree, place->path, front::LastLink::Follow);
  if (!found) return error_answer(found.error());
  if ((*snapshot)->shown && !(*snapshot)->shown(found->stat))
    return plain_answer(403, "it is in another file, which not all who may read this one may read");
  return answer_node({request, query, *snapshot, place->prefix, place->path}, *std::move(found));
}

void Site::add_common(const Request& request, Answer& answer) const {
  answer.add("X-Content-Type-Options", "nosniff");
  answer.add("Referrer-Policy", "no-referrer");
  answer.add("Content-Security-Policy", std::string(kPolicy));
  if (options_.cors_origin.empty()) {
    answer.add("Cross-Origin-Resource-Policy", "same-origin");
    return;
  }
  const auto origin = request.header("Origin");
  const bool any = options_.cors_origin == "*";
  if (!any) {
    auto vary = std::ranges::find(answer.headers, std::string_view("Vary"), &Header::first);
    if (vary == answer.headers.end())
      answer.add("Vary", "Origin");
    else
      vary->second += ", Origin";
  }
  answer.add("Cross-Origin-Resource-Policy", "cross-origin");
  if (!any && origin != options_.cors_origin) return;
  answer.add("Access-Control-Allow-Origin", options_.cors_origin);
  answer.add("Access-Control-Expose-Headers",
             "Accept-Ranges, Content-Encoding, Content-Length, Content-Location, Content-Range, ETag, "
             "Last-Modified");
  if (request.method != "OPTIONS") return;
  answer.add("Access-Control-Allow-Methods", std::string(kMethods));
  answer.add(
      "Access-Control-Allow-Headers",
      "Authorization, Range, If-Range, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, Cache-Control");
  answer.add("Access-Control-Max-Age", "86400");
  if (request.header("Access-Control-Request-Private-Network") == "true")
    answer.add("Access-Control-Allow-Private-Network", "true");
}

}  // namespace h5mount::serve

#include "site.h"

#include <fmt/format.h>

#include <algorithm>

#include "../api/api.h"
#include "../http/host.h"
#include "../http/representation.h"
#include "../http/url.h"
#include "../source/tags.h"
#include "chunk_failure.h"
#include "h5mount/base/advice.h"
#include "h5mount/base/uri.h"
#include "h5mount/front/path_walk.h"
#include "listing.h"
#include "page_answers.h"

namespace h5mount::serve {
namespace {

constexpr std::string_view kMethods = "GET, HEAD, OPTIONS";

// A page may load its own script and style, and the data of this server. Other answers are never
// rendered.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// The names of the sources in the root: equal ones get ` (2)`, ` (3)`…
std::vector<std::string> distinct_names(const std::vector<SourceToServe>& sources) {
  std::vector<std::string> out;
  for (const SourceToServe& source : sources) {
    std::string name = source.name;
    for (unsigned i = 2; std::ranges::find(out, name) != out.end(); ++i)
      name = fmt::format("{} ({})", source.name, i);
    out.push_back(name);
  }
  return out;
}

// The way from a path to the root: `./`, `../`, `../../`…
std::string root_from(std::string_view path) {
  const auto levels = std::ranges::count(path, '/') - 1;
  std::string out = levels > 0 ? "" : "./";
  for (std::ptrdiff_t i = 0; i < levels; ++i) out += "../";
  return out;
}

// The answer if nothing was found; if the last name of the path is a link, it names the link's target.
Answer missing_answer(const std::shared_ptr<tree::Tree>& tree, const std::string& path, const Error& error,
                      RequestBudget& budget) {
  const auto link = front::find_path(tree, path, front::LastLink::Keep, budget);
  if (!link || link->stat.type != tree::NodeType::Symlink) return error_answer(error);
  const auto target = tree->readlink(link->node.id());
  if (!target) return error_answer(error);
  return error_answer(error,
                      fmt::format("/{} is a link to {}: {}", link->path, *target, text_with_advice(error)));
}

}  // namespace

Site::Site(SiteOptions options, std::vector<SourceToServe> sources)
    : options_(std::move(options)), token_(options_.token, options_.port), names_(distinct_names(sources)) {
  for (SourceToServe& source : sources) sources_.push_back(std::make_unique<ServedSource>(std::move(source)));
}

Answer Site::answer(const Request& request, RequestWork& work) {
  Answer out = answer_valid(request, work);
  if (asks_for_chunk(request)) {
    out.of_chunk = true;
    out = chunk_failure(request, std::move(out));
  }
  add_common(request, out);
  return out;
}

Answer Site::failed(const Request& request, const Answer& instead_of, const Error& error) const {
  Answer out = instead_of.of_api ? api_refusal(error) : error_answer(of_found(error));
  if (asks_for_chunk(request))
    out = chunk_failure(request, std::move(out), instead_of.body ? instead_of.body->size() : std::nullopt);
  add_common(request, out);
  return out;
}

Answer Site::answer_valid(const Request& request, RequestWork& work) {
  if (!request.only_reads()) {
    Answer out = plain_answer(405, "read-only: GET, HEAD and OPTIONS");
    out.add("Allow", std::string(kMethods));
    return out;
  }
  const bool everything = request.method == "OPTIONS" && request.uri == "*";
  if (!request.target && !everything) return plain_answer(400, "the target is no path");
  if (request.several_hosts) return plain_answer(400, "more than one Host field");
  if (options_.loopback && !is_loopback_host(request.host))
    return plain_answer(
        421,
        "this server is on a loopback address, where Host must be localhost: a proxy must pass on "
        "the server's own (nginx: leave `proxy_set_header Host` out), or serve on an address "
        "(--serve ADDRESS:PORT)");
  if (request.method == "OPTIONS") {
    Answer out;
    out.status = 204;
    out.add("Allow", std::string(kMethods));
    return out;
  }
  if (auto instead = token_.answer_instead(request)) return *std::move(instead);
  return answer_at(request, *request.target, work);
}

std::optional<Site::Place> Site::place_of(const std::string& path) {
  if (sources_.size() == 1) return Place{sources_.front().get(), {}, names_.front(), path};
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string name = path.substr(0, end);
  if (name.empty() && path.size() <= 1) return Place{};
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) return std::nullopt;
  const auto index = static_cast<std::size_t>(found - names_.begin());
  // Without a slash the path is that of the directory, which is then redirected.
  return Place{sources_[index].get(), name, name, end < path.size() ? path.substr(end + 1) : "."};
}

Answer Site::answer_sources(const Request& request, RequestWork& work) const {
  const DirectoryForm form = directory_form(request);
  BodyPtr body = make_name_listing(names_, listing_form(form, false));
  auto tag = tag_of_text(body, work);
  if (!tag) return error_answer(tag.error());
  return listing_answer(request, std::move(body), form == DirectoryForm::Json, *std::move(tag), work);
}

Answer Site::answer_at(const Request& request, const Target& target, RequestWork& work) {
  if (!target.place) return plain_answer(target.path.contains('%') ? 404 : 400, "no such path");
  if (const auto asset = target.parameters.get("asset"); asset && target.path == "/")
    return asset_answer(request, *asset, target.parameters.get("of").value_or(""));
  const std::string& clean = *target.place;
  if (auto of_api = api_answer(request, target, work)) {
    of_api->of_api = true;
    return *std::move(of_api);
  }
  const std::string root = root_from(clean);
  const auto place = place_of(clean.substr(1));
  if (!place) return problem_answer(request, plain_answer(404, "no such source"), clean, root);
  if (place->source == nullptr) return answer_sources(request, work);
  const auto snapshot = place->source->current(work.budget());
  if (!snapshot) {
    Answer out = plain_answer(503, text_with_advice(snapshot.error()));
    out.add("Retry-After", "1");
    return out;
  }
  const std::shared_ptr<tree::Tree>& tree = (*snapshot)->tree;
  work.set_file_bytes(tree->statfs().file_bytes);
  auto found = front::find_path(tree, place->path, front::LastLink::Follow, work.budget());
  Answer out;
  if (!found) {
    out = missing_answer(tree, place->path, found.error(), work.budget());
  } else if ((*snapshot)->shown && !(*snapshot)->shown(found->stat)) {
    out = plain_answer(403, "it is in another file, which not all who may read this one may read");
  } else {
    out = answer_found({request, *snapshot, root, {}, place->name, place->path, {}, work}, *place,
                       *std::move(found));
  }
  return problem_answer(request, std::move(out), clean, root);
}

Answer Site::answer_found(NodeRequest request, const Place& place, front::FoundNode found) {
  request.source = place.name.empty() ? request.root : request.root + encode_component(place.name) + "/";
  request.file = {place.file, sources_.size() > 1, 0};
  if (request.snapshot->many) {
    auto file = request.snapshot->tree->file_of(found.node.id(), request.work.budget());
    if (!file) return error_answer(file.error());
    request.snapshot = place.source->of_file(request.snapshot, *file);
    if (*file && !(*file)->plain)
      request.file = {front::joined_path(place.name, (*file)->path), true, (*file)->path.size()};
    else
      request.file = {};
  }
  return answer_node(request, std::move(found));
}

// Whether an object at `/api`, or a source, has the name of the interface. Nothing of a file may be hidden,
// so the interface is then below `/.h5` only.
bool Site::hides_api(RequestWork& work) const {
  if (sources_.size() > 1) return std::ranges::find(names_, "api") != names_.end();
  const auto snapshot = sources_.front()->current(work.budget());
  if (!snapshot) return false;
  return front::find_path((*snapshot)->tree, "api", front::LastLink::Keep, work.budget()).has_value();
}

// The source that the parameter `file` names, and the path below it if it has many files.
std::optional<Site::Place> Site::place_of_file(const std::optional<std::string>& file) const {
  const std::string name = file.value_or(names_.front());
  if (sources_.size() == 1) return Place{sources_.front().get(), {}, name, file.value_or(std::string())};
  if (!file) return std::nullopt;
  const auto named = std::ranges::find(names_, name);
  const auto at = [this](auto found) {
    return sources_[static_cast<std::size_t>(found - names_.begin())].get();
  };
  if (named != names_.end()) return Place{at(named), {}, name, {}};
  const std::size_t end = std::min(name.find('/'), name.size());
  const auto above = std::ranges::find(names_, name.substr(0, end));
  if (above == names_.end() || end == name.size()) return std::nullopt;
  return Place{at(above), *above, name, name.substr(end + 1)};
}

namespace {

// The API's answer to an error of the file as a whole, in the words that H5Web looks for.
Answer file_refusal(const Error& error) {
  if (error.code() != ErrorCode::AccessDenied) return api_refusal(error);
  return api_refusal(403, "Cannot read file: Permission denied: " + text_with_advice(error));
}

}  // namespace

std::optional<Answer> Site::api_answer(const Request& request, const Target& target,
                                       RequestWork& work) const {
  const ApiPath asked = api_path(*target.place);
  if (asked.endpoint.empty() || (!asked.always && hides_api(work))) return std::nullopt;
  if (asked.endpoint == "/") return api_greeting();
  const auto file = target.parameters.get("file");
  const auto place = place_of_file(file);
  const auto not_found = [&] {
    return api_refusal(404, file ? "File not found!" : "File not found: the parameter file is missing");
  };
  if (!place) return not_found();
  const auto snapshot = place->source->current(work.budget());
  if (!snapshot) return file_refusal(snapshot.error());
  const std::shared_ptr<tree::Tree>& tree = (*snapshot)->tree;
  work.set_file_bytes(tree->statfs().file_bytes);
  ApiRequest out{request, target.parameters, *snapshot, place->file, {}, {}, work};
  if (!(*snapshot)->many) {
    const bool by_name = sources_.size() == 1 && place->path == names_.front();
    if (!place->path.empty() && !by_name) return not_found();
    if (sources_.size() > 1) out.place = encode_component(place->file) + "/";
    return answer_api(asked.endpoint, out);
  }
  const auto found = front::find_path(tree, place->path, front::LastLink::Follow, work.budget());
  if (!found) return found.error().code() == ErrorCode::NotFound ? not_found() : file_refusal(found.error());
  const auto shown = tree->file_of(found->node.id(), work.budget());
  if (!shown) return file_refusal(shown.error());
  if (!*shown || (*shown)->plain || (*shown)->path != found->path) return not_found();
  out.snapshot = place->source->of_file(*snapshot, *shown);
  out.root = found->node.id();
  out.above = found->path + "/";
  out.place = (place->name.empty() ? "" : encode_component(place->name) + "/") + encode_path(out.above);
  return answer_api(asked.endpoint, out);
}

void Site::add_common(const Request& request, Answer& answer) const {
  answer.add("X-Content-Type-Options", "nosniff");
  answer.add("Referrer-Policy", "no-referrer");
  answer.add("Content-Security-Policy", std::string(kPolicy));
  if (options_.cors_origin.empty()) {
    answer.add("Cross-Origin-Resource-Policy", "same-origin");
    return;
  }
  const bool any = options_.cors_origin == "*";
  if (!any) {
    auto vary = std::ranges::find(answer.headers, std::string_view("Vary"), &Header::first);
    if (vary == answer.headers.end())
      answer.add("Vary", "Origin");
    else
      vary->second += ", Origin";
  }
  answer.add("Cross-Origin-Resource-Policy", "cross-origin");
  if (!any && request.origin != options_.cors_origin) return;
  answer.add("Access-Control-Allow-Origin", options_.cors_origin);
  answer.add("Access-Control-Expose-Headers",
             "Accept-Ranges, Content-Encoding, Content-Length, Content-Location, Content-Range, ETag, "
             "Last-Modified, X-H5mount-Error");
  if (request.method != "OPTIONS") return;
  answer.add("Access-Control-Allow-Methods", std::string(kMethods));
  answer.add("Access-Control-Allow-Headers",
             "Authorization, Range, If-Range, If-Match, If-None-Match, If-Modified-Since, "
             "If-Unmodified-Since, Cache-Control");
  answer.add("Access-Control-Max-Age", "86400");
  if (request.asks_for_private_network) answer.add("Access-Control-Allow-Private-Network", "true");
}

}  // namespace h5mount::serve

#include "api.h"

#include <fmt/format.h>

#include <array>

#include "../http/representation.h"
#include "h5mount/base/advice.h"
#include "h5mount/base/text.h"
#include "h5mount/text/json_writer.h"

namespace h5mount::serve {
namespace {

constexpr unsigned kUnprocessable = 422;

struct Endpoint {
  std::string_view name;
  Result<Answer> (*answer)(const ApiRequest& request);
};
constexpr std::array<Endpoint, 7> kEndpoints = {{{"meta", &answer_meta},
                                                 {"attr", &answer_attributes},
                                                 {"data", &answer_data},
                                                 {"paths", &answer_paths},
                                                 {"stats", &answer_statistics},
                                                 {"version", &answer_version},
                                                 {"views", &answer_views}}};

std::string link_words(const format::Link& link) {
  if (link.is(format::LinkType::External))
    return fmt::format("<ExternalLink to \"{}\" in file \"{}\">", link.target, link.file);
  return fmt::format("<SoftLink to \"{}\">", link.target);
}

}  // namespace

ApiPath api_path(std::string_view path) {
  ApiPath out;
  out.always = path.starts_with("/.h5/");
  if (out.always) path.remove_prefix(4);
  constexpr std::string_view kPlace = "/api";
  if (!path.starts_with(kPlace)) return {};
  path.remove_prefix(kPlace.size());
  if (path.empty() || path == "/") {
    out.endpoint = "/";
    return out;
  }
  if (path.ends_with('/')) path.remove_suffix(1);
  path.remove_prefix(1);
  for (const Endpoint& endpoint : kEndpoints)
    if (path == endpoint.name) out.endpoint = endpoint.name;
  return out;
}

Error refused(std::string message) {
  return {ErrorCode::InvalidValue, std::move(message)};
}

Answer api_greeting() {
  return uncached_answer("text/plain; charset=utf-8", make_text_body("ok"));
}

Answer api_refusal(unsigned status, std::string_view message) {
  std::string text;
  text::JsonWriter(text).begin_object().member("message", message).end_object();
  Answer out = uncached_answer("application/json", make_text_body(std::move(text)));
  out.status = status;
  return out;
}

Answer api_refusal(const Error& error) {
  // An invalid value of the file names its structure, so that one without is the query's (`refused`). What is
  // too much work for one request is the query's fault too: another one asks for less.
  const bool of_query = (error.code() == ErrorCode::InvalidValue && error.structure().empty()) ||
                        error.code() == ErrorCode::BudgetExceeded;
  const unsigned status = of_query ? kUnprocessable : error_answer(error).status;
  Answer out = api_refusal(status, text_with_advice(error));
  if (status == 503) out.add("Retry-After", "1");
  return out;
}

Answer answer_api(std::string_view endpoint, const ApiRequest& request) {
  for (const Endpoint& known : kEndpoints) {
    if (endpoint != known.name) continue;
    auto answer = known.answer(request);
    return answer ? *std::move(answer) : api_refusal(answer.error());
  }
  return plain_answer(404, "no such endpoint");
}

Result<LinkResolution> link_resolution(const Query& query) {
  const auto given = query.get("resolve_links");
  if (!given || equals_ignoring_case(*given, "only_valid")) return LinkResolution::OnlyValid;
  if (equals_ignoring_case(*given, "true") || equals_ignoring_case(*given, "all")) return LinkResolution::All;
  if (equals_ignoring_case(*given, "false") || equals_ignoring_case(*given, "none"))
    return LinkResolution::None;
  return fail(refused(*given + " is not a valid value for link resolution: all, none and only_valid are"));
}

Result<tree::FileObjectPtr> follow_shown(const Snapshot& snapshot, const tree::FileObject& group,
                                         const format::Link& link, RequestBudget& budget) {
  H5_ASSIGN(tree::FileObjectPtr object, group.follow(link, budget));
  if (!object->is_of_main_file() && snapshot.shown && !snapshot.shown(object->stat()))
    return fail({ErrorCode::AccessDenied,
                 "Permission denied: it is in another file, which not all who may read this one may read"});
  return object;
}

bool is_shown_as_link(const Error& error) {
  return !is_passing(error) || is_held_by_writer(error);
}

Result<Entity> find_entity(const ApiRequest& request, const tree::FileObjectPtr& root,
                           const std::string& path, LinkResolution resolution) {
  Entity out{path, root, std::nullopt};
  auto found = tree::find_last_link(root, path, request.budget());
  if (!found) {
    if (found.error().code() != ErrorCode::NotFound) return fail(found.error());
    return fail({ErrorCode::NotFound, fmt::format("{} is not a valid path in {}", path, request.file)});
  }
  if (!found->link) return out;
  out.link = *std::move(found->link);
  const bool hard = out.link->is(format::LinkType::Hard);
  out.object = nullptr;
  if (!hard && resolution == LinkResolution::None) return out;
  auto object = follow_shown(*request.snapshot, *found->group, *out.link, request.budget());
  if (object) {
    out.object = *std::move(object);
    return out;
  }
  if (!hard && resolution == LinkResolution::OnlyValid && is_shown_as_link(object.error())) return out;
  if (hard || is_passing(object.error())) return fail(object.error());
  return fail(
      {object.error().code() == ErrorCode::AccessDenied ? ErrorCode::AccessDenied : ErrorCode::NotFound,
       fmt::format("Cannot resolve {} at {} of {}: {}", link_words(*out.link), path, request.file,
                   text_with_advice(object.error()))});
}

Status confirm_unchanged(const tree::FileObject& object) {
  tree::FilesRead read;
  object.add_to(read);
  return read.confirm_unchanged();
}

Result<Entity> find_object(const ApiRequest& request) {
  H5_ASSIGN(const tree::FileObjectPtr root,
            request.snapshot->tree->root_object(request.root, request.budget()));
  return find_entity(request, root, request.path(), LinkResolution::All);
}

Result<Entity> find_dataset(const ApiRequest& request) {
  H5_ASSIGN(Entity entity, find_object(request));
  if (entity.object->object().kind != object::ObjectKind::Dataset)
    return fail(refused(entity.path + " is not a dataset"));
  return entity;
}

namespace {

std::string version_tag(const ApiRequest& request, bool own) {
  return own ? fmt::format("\"{}-a\"", request.snapshot->version) : std::string();
}

}  // namespace

bool is_own(const tree::FileObject& object, OwnPart part, RequestBudget& budget) {
  if (!object.is_of_main_file()) return false;
  if (object.object().kind != object::ObjectKind::Dataset) return true;
  const auto dataset = object.description(budget);
  if (!dataset) return true;
  return (*dataset)->layout.cls != format::LayoutClass::Virtual &&
         (part == OwnPart::Description || (*dataset)->external.empty());
}

std::optional<Answer> not_modified(const ApiRequest& request, bool own) {
  return conditional_answer(request.request, {version_tag(request, own), std::nullopt, false});
}

// Short JSON is compressed if the client accepts that.
Answer described(const ApiRequest& request, BodyPtr body, std::string_view type, bool own) {
  if (type == "application/json")
    return listing_answer(request.request, std::move(body), true, version_tag(request, own), request.work);
  if (auto instead = not_modified(request, own)) return *std::move(instead);
  Answer out;
  add_validators({version_tag(request, own), std::nullopt, false}, out);
  out.add("Content-Type", std::string(type));
  out.body = std::move(body);
  return out;
}

// Pages ask for this again and again: if the version differs, the file has another state.
Result<Answer> answer_version(const ApiRequest& request) {
  std::string text;
  text::JsonWriter(text)
      .begin_object()
      .member("version", request.snapshot->version)
      .member("opened", request.snapshot->opening)
      .member("followed", request.snapshot->tree->follows(request.root))
      .end_object();
  return uncached_answer("application/json", make_text_body(std::move(text)));
}

}  // namespace h5mount::serve

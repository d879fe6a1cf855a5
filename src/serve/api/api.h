// The interface of h5grove 4 (the server that H5Web was written for): what an object is, its attributes, its
// data, statistics of them, and the paths below a group, as JSON and in formats of arrays. It goes by HDF5's
// own names, so it uses no nodes of the tree but its objects (tree/file_object.h). One file for each
// endpoint. Threads: any.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "../http/message.h"
#include "../source/source.h"
#include "h5mount/tree/file_object.h"

namespace h5mount::serve {

struct ApiRequest {
  const Request& request;
  const Query& query;
  std::shared_ptr<const Snapshot> snapshot;
  std::string file;   // the file's name, for messages
  std::string place;  // path of the file's root on the server: empty, or `NAME/`, encoded
  std::string above;  // the same path in the snapshot's tree
  RequestWork& work;
  tree::NodeId root = tree::kRootNode;  // the directory that shows the file

  RequestBudget& budget() const { return work.budget(); }
  std::string path() const { return query.get("path").value_or("/"); }
};

// The name of the endpoint that a path of the server asks for ("meta"; "/" for `/api/`), without its last
// slash; empty if the path asks for none. `always`: the path is below `/.h5/api`, where nothing else is.
struct ApiPath {
  std::string_view endpoint;
  bool always = false;
};
ApiPath api_path(std::string_view path);

Answer api_greeting();  // for `/api/`
Answer answer_api(std::string_view endpoint, const ApiRequest& request);
// The answer of all endpoints to an error, in the words that H5Web looks for.
Answer api_refusal(unsigned status, std::string_view message);
Answer api_refusal(const Error& error);

// ---- for the endpoints

// The error of a parameter that cannot be answered: status 422.
Error refused(std::string message);

enum class LinkResolution { None, OnlyValid, All };
// Reads the parameter `resolve_links`.
Result<LinkResolution> link_resolution(const Query& query);

// The object that a path leads to, or a link that is not resolved.
struct Entity {
  std::string path;                  // the path that was asked for
  tree::FileObjectPtr object;        // null if it is not resolved
  std::optional<format::Link> link;  // the last link of the path; nullopt for the root
};
Result<Entity> find_entity(const ApiRequest& request, const tree::FileObjectPtr& root,
                           const std::string& path, LinkResolution resolution);
// Follows a link of a group, if all who may read the source may read the object that it leads to. Fails if
// the link leads nowhere.
Result<tree::FileObjectPtr> follow_shown(const Snapshot& snapshot, const tree::FileObject& group,
                                         const format::Link& link, RequestBudget& budget);
// Whether a link whose target cannot be had, with that error, is described as a link. What fails for a moment
// fails the request: clients keep answers.
bool is_shown_as_link(const Error& error);
// Fails if the files that the object was read from have changed meanwhile.
Status confirm_unchanged(const tree::FileObject& object);
// The object that the parameter `path` names.
Result<Entity> find_object(const ApiRequest& request);
Result<Entity> find_dataset(const ApiRequest& request);

// Whether the source's own file alone determines the answers about an object; its version does not show
// changes of other files.
enum class OwnPart { Description, Data };
bool is_own(const tree::FileObject& object, OwnPart part, RequestBudget& budget);

// `own`: whether the source's file alone determines the answer, so that it has validators. not_modified
// returns the answer that the request's conditions ask for, if they do; described makes the answer with its
// headers.
std::optional<Answer> not_modified(const ApiRequest& request, bool own);
Answer described(const ApiRequest& request, BodyPtr body, std::string_view type, bool own);

Result<Answer> answer_meta(const ApiRequest& request);
Result<Answer> answer_attributes(const ApiRequest& request);
Result<Answer> answer_data(const ApiRequest& request);
Result<Answer> answer_paths(const ApiRequest& request);
Result<Answer> answer_statistics(const ApiRequest& request);
Result<Answer> answer_views(const ApiRequest& request);
Result<Answer> answer_version(const ApiRequest& request);

}  // namespace h5mount::serve

// The interface of h5grove 4 (the server that H5Web was written for): what an object is, its attributes, its
// data, statistics of them, and the paths below a group, as JSON and in formats of arrays. One file for each
// endpoint. Threads: any.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "../message.h"
#include "../source.h"
#include "h5mount/tree/file_object.h"
#include "query.h"

namespace h5mount::serve {

struct ApiRequest {
  const Request& request;
  const ApiQuery& query;
  std::shared_ptr<const Snapshot> snapshot;
  std::string file;   // its name, for messages
  std::string place;  // of the file's root on the server: empty, or `NAME/`, encoded
  std::string above;  // the same in the snapshot's tree
  RequestWork& work;
  tree::NodeId root = tree::kRootNode;  // the directory that shows the file

  RequestBudget& budget() const { return work.budget(); }
  std::string path() const { return query.get("path").value_or("/"); }
};

// The name of the endpoint that a path of the server asks for ("meta"; "/" for `/api/`), without its last
// slash; empty where it is none. `always`: the path is below `/.h5/api`, where nothing else is.
struct ApiPath {
  std::string_view endpoint;
  bool always = false;
};
ApiPath api_path(std::string_view path);

Answer api_greeting();  // of `/api/`
Answer answer_api(std::string_view endpoint, const ApiRequest& request);
// An error as all endpoints answer it, in the words that H5Web looks for.
Answer api_refusal(unsigned status, std::string_view message);
Answer api_refusal(const Error& error);

// ---- for the endpoints

// A parameter that cannot be answered: status 422.
Error refused(std::string message);

enum class LinkResolution { None, OnlyValid, All };
// Of the parameter `resolve_links`.
Result<LinkResolution> link_resolution(const ApiQuery& query);

// What a path leads to: an object, or a link that is not resolved.
struct Entity {
  std::string path;                  // as asked for
  tree::FileObjectPtr object;        // null: not resolved
  std::optional<format::Link> link;  // the last one; nothing for the root
};
Result<Entity> find_entity(const ApiRequest& request, const tree::FileObjectPtr& root,
                           const std::string& path, LinkResolution resolution);
// What a link of a group leads to, where all who may read the source may read that; an error where it leads
// nowhere.
Result<tree::FileObjectPtr> follow_shown(const Snapshot& snapshot, const tree::FileObject& group,
                                         const format::Link& link, RequestBudget& budget);
// The object that the parameter `path` names.
Result<Entity> find_object(const ApiRequest& request);
Result<Entity> find_dataset(const ApiRequest& request);

// Whether the source's own file alone determines what is said of an object; its version tells of no other's
// changes.
enum class OwnPart { Description, Data };
bool is_own(const tree::FileObject& object, OwnPart part, RequestBudget& budget);

// Headers of an answer that was made from an object: validators, where the source alone determines it, or the
// answer that they ask for. `own`: whether it does.
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

// Lists the files that show an object or the requested selection of it, which the page offers to download,
// and what salvage did for the object.
#include <fmt/format.h>

#include "../source/object_path.h"
#include "api.h"
#include "h5mount/base/uri.h"
#include "h5mount/front/path_walk.h"
#include "h5mount/text/json_writer.h"
#include "h5mount/tree/hidden_entries.h"
#include "h5mount/view/view.h"

namespace h5mount::serve {
namespace {

class Offer {
 public:
  Offer(const ApiRequest& request, text::JsonWriter& json) : request_(request), json_(json) {}

  // Adds the node at a path of the tree, if there is one of that type.
  void add(std::string_view name, std::string_view what, const std::string& path, tree::NodeType type) {
    const auto found = front::find_path(request_.snapshot->tree, request_.above + path,
                                        front::LastLink::Follow, request_.budget());
    if (!found || found->stat.type != type) return;
    const bool directory = type == tree::NodeType::Directory;
    json_.begin_object().member("name", name).member("what", what);
    json_.member("href", request_.place + encode_path(path) + (directory ? "/" : ""));
    json_.end_object();
  }

 private:
  const ApiRequest& request_;
  text::JsonWriter& json_;
};

Result<std::string> remark_on(const ApiRequest& request, const std::string& path) {
  const auto& tree = request.snapshot->tree;
  H5_ASSIGN(const front::FoundNode found,
            front::find_path(tree, request.above + path, front::LastLink::Follow, request.budget()));
  return tree->get_xattr(found.node.id(), "user.hdf5.salvage", request.budget());
}

}  // namespace

Result<Answer> answer_views(const ApiRequest& request) {
  H5_ASSIGN(const Entity entity, find_object(request));
  const std::string path = shown_path(entity.path);
  const auto selection = request.query.get("selection");
  std::string text;
  text::JsonWriter json(text);
  json.begin_object().key("views").begin_array();
  Offer offer(request, json);
  const bool group = entity.object->object().kind == object::ObjectKind::Group;
  const std::string part = selection ? fmt::format(".h5/slice/{}/{}", path, *selection) : "";
  if (selection && selection->find('/') == std::string::npos) {
    offer.add("bytes of " + *selection, "", part, tree::NodeType::File);
    for (const view::View& view : view::views())
      if (!view.suffix.empty())
        offer.add(fmt::format("{} of {}", view.suffix, *selection), "", part + std::string(view.suffix),
                  tree::NodeType::File);
  }
  if (!group) offer.add("bytes", "", path, tree::NodeType::File);
  for (const tree::HiddenEntry& entry : tree::hidden_entries()) {
    using enum tree::HiddenEntry::Shows;
    if (entry.shows == Whole || (entry.shows == File && path.empty())) continue;
    offer.add(entry.name, entry.summary, fmt::format(".h5/{}/{}{}", entry.name, path, entry.suffix),
              entry.shows == File ? tree::NodeType::File : tree::NodeType::Directory);
  }
  json.end_array();
  if (const auto remark = remark_on(request, path)) json.key("salvage").raw(*remark);
  json.end_object();
  text += '\n';
  return described(request, make_text_body(std::move(text)), "application/json", false);
}

}  // namespace h5mount::serve

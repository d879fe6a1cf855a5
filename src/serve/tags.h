// Entity tags. A tag is of one URL: it differs whenever the bytes there may. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "h5mount/front/path_walk.h"
#include "source.h"

namespace h5mount::serve {

// Makes the tags of one request. Threads: one.
class Tags {
 public:
  Tags(const Snapshot& snapshot, RequestBudget& budget) : snapshot_(snapshot), budget_(budget) {}

  // The tag of a node at a path without symlinks, quoted and strong: made of the version of the source's
  // file. Empty where the bytes may come from another file, whose changes that version does not tell: data of
  // virtual datasets, data in external files, and what is behind external links. `variant` tells apart what
  // one URL is answered with.
  std::string tag_of(std::string_view path, tree::NodeId node, tree::NodeType type,
                     std::string_view variant = {});

 private:
  bool is_of_source_alone(std::string_view path, tree::NodeId node, tree::NodeType type);
  bool has_own_data(tree::NodeId node);
  bool shows_own_data(std::string_view view);
  struct Reached {
    front::NodeReference node;
    bool is_file = false;
    bool elsewhere = false;  // behind a link to a view, or to another file
  };
  Result<Reached> follow(const Reached& from, std::string_view above, std::string_view name);
  const std::optional<Reached>& reached(std::string_view path);

  const Snapshot& snapshot_;
  RequestBudget& budget_;
  // The last path that was asked for: that of the directory of all entries of a listing.
  std::optional<std::string> path_;
  std::optional<Reached> reached_;
};

}  // namespace h5mount::serve

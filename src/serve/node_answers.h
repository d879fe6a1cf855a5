// Answers for a node of a tree.
#pragma once

#include "h5mount/front/path_walk.h"
#include "message.h"
#include "source.h"

namespace h5mount::serve {

// The file that a node is of.
struct NodeFile {
  std::string name;       // as the interface below /api/ knows it; empty: the node is between files
  bool named = false;     // there are others
  std::size_t above = 0;  // how much of a path of the node in its source leads to the file
};

struct NodeRequest {
  const Request& request;
  std::string_view query;
  std::shared_ptr<const Snapshot> snapshot;
  // References relative to the request, which are right behind a proxy too that has the server in a
  // directory:
  std::string root;    // of the server: `./`, `../`, `../../`…
  std::string source;  // of the source's root, with a slash at its end
  std::string name;    // of the source where there are several, decoded; else empty
  std::string path;    // in the source, decoded, as in the URL
  NodeFile file;
  RequestWork& work;
};

// `path` resolves to `found`. Directories have URLs that end in `/`, without symlinks: others are redirected
// there, so that programs that follow links end. A file is answered in place, whatever symlinks lead to it.
Answer answer_node(const NodeRequest& request, front::FoundNode found);

// How a listing is to be answered: ?list or Accept ask for JSON; browsers, which name text/html, get the
// page, and without JavaScript the table (?plain).
enum class DirectoryForm { Json, Page, Html, Table };
DirectoryForm directory_form(const Request& request, std::string_view query);

}  // namespace h5mount::serve

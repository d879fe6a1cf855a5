// Answers for a node of a tree.
#pragma once

#include "../http/message.h"
#include "../source/source.h"
#include "h5mount/front/path_walk.h"
#include "listing.h"

namespace h5mount::serve {

// The file that a node belongs to.
struct NodeFile {
  std::string name;       // the name in the interface below /api/; empty if the node is between files
  bool named = false;     // there are other files
  std::size_t above = 0;  // bytes of the node's path in its source that lead to the file
};

struct NodeRequest {
  const Request& request;
  std::shared_ptr<const Snapshot> snapshot;
  // References relative to the request, so that they are right even if a proxy has the server in a directory:
  std::string root;    // the server's root: `./`, `../`, `../../`…
  std::string source;  // the source's root, with a slash at its end
  std::string name;    // the source's name, decoded; empty if there is only one
  std::string path;    // the path in the source, decoded, as in the URL
  NodeFile file;
  RequestWork& work;
};

// `path` resolves to `found`. URLs of directories end in `/` and contain no symlinks: other URLs are
// redirected to these, so that programs that follow links come to an end. A file is answered at its own URL,
// whatever symlinks lead to it.
Answer answer_node(const NodeRequest& request, front::FoundNode found);

// The form in which a listing is answered: ?list or Accept ask for JSON; browsers, which name text/html, get
// the page, or the table (?plain) without JavaScript.
enum class DirectoryForm { Json, Page, Html, Table };
DirectoryForm directory_form(const Request& request);
// `in_file`: the directory is one of a file, not above files.
ListingForm listing_form(DirectoryForm form, bool in_file);

}  // namespace h5mount::serve

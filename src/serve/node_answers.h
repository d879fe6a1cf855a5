// Answers for a node of a tree.
#pragma once

#include "h5mount/front/path_walk.h"
#include "message.h"
#include "source.h"

namespace h5mount::serve {

struct NodeRequest {
  const Request& request;
  std::string_view query;
  std::shared_ptr<const Snapshot> snapshot;
  std::string prefix;  // of the source in URLs, encoded: empty or `/NAME`
  std::string path;    // in the source, decoded, as in the URL
};

// `path` resolves to `found`. Directories have URLs that end in `/`, without symlinks: others are redirected
// there, so that programs that follow links end. A file is answered in place, whatever symlinks lead to it.
Answer answer_node(const NodeRequest& request, front::FoundNode found);

// The page that shows an object. Its script asks for the facts.
Answer page_answer(const Request& request);
// A file of the page; 404 where there is no such file.
Answer asset_answer(const Request& request, std::string_view name);

// How a listing is to be answered: ?list or Accept ask for JSON; browsers, which name text/html, get the
// page.
enum class DirectoryForm { Json, Page, Html };
DirectoryForm directory_form(const Request& request, std::string_view query);
// Sets what all listings and pages have, and compresses them where the client takes that.
Answer listing_answer(const Request& request, BodyPtr body, bool json, std::string etag);

}  // namespace h5mount::serve

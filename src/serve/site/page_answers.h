// The page that shows objects to people: H5Web's application over the interface below /api/, which the build
// embeds. A build without it serves the plain listing instead. Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "../http/message.h"

namespace h5mount::serve {

// Whether this build has the page.
bool has_page();

struct PagePlace {
  std::string root;    // reference to the server's root: `./`, `../`…
  std::string plain;   // reference that a browser without JavaScript follows
  std::string name;    // the file's name in the interface below /api/
  bool named = false;  // whether there are other files
  std::string path;    // the object's path in its file, in HDF5's own names
};
Answer page_answer(const Request& request, const PagePlace& place, RequestWork& work);

// Answers with a file of the page, or with 404 if there is no such file. `build`: the build that a page named
// in the file's address, or empty. Browsers keep a file of this build without asking again.
Answer asset_answer(const Request& request, std::string_view name, std::string_view build);

// Makes an error's line of text a page for clients that name text/html: it says what was asked for and leads
// back. All other answers are returned as they are. `path` is the requested one, decoded; `root` is as in
// NodeRequest.
Answer problem_answer(const Request& request, Answer answer, std::string_view path, const std::string& root);

}  // namespace h5mount::serve

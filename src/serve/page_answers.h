// The page that shows objects to people: H5Web's application over the interface below /api/, which the build
// embeds. A build without it has the plain listing in its place. Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "message.h"

namespace h5mount::serve {

// Whether this build has the page.
bool has_page();

struct PagePlace {
  std::string root;    // the way to the server's root: `./`, `../`…
  std::string plain;   // what a browser without JavaScript is led to, a reference
  std::string name;    // of the file, as the interface below /api/ knows it
  bool named = false;  // whether there are others
  std::string path;    // of the object in its file, in HDF5's own names
};
Answer page_answer(const Request& request, const PagePlace& place, RequestWork& work);

// A file of the page; 404 where there is no such file.
Answer asset_answer(const Request& request, std::string_view name, RequestWork& work);

// The HDF5 path of an object at a path of names as the tree shows them.
std::string own_path(std::string_view shown);
// The other way.
std::string shown_path(std::string_view own);

}  // namespace h5mount::serve

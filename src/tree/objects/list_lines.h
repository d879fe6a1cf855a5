// The whole tree of a file as text for people: the content of /.h5/list.txt. Threads: any.
#pragma once

#include <functional>
#include <string_view>

#include "../core/served_file.h"

namespace h5mount::tree {

// Writes a line for the root and for every link, by the paths that the mount shows, each followed by lines
// for its attributes. `out` receives the lines of one path at a time; an error that it returns ends the walk.
Status list_lines(const ServedFilePtr& file, const std::function<Status(std::string_view lines)>& out,
                  RequestBudget& budget);

}  // namespace h5mount::tree

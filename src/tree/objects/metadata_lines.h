// The whole tree of a file as lines of strict JSON, one object a line, depth first: the content of
// /.h5/metadata.jsonl. Threads: any.
#pragma once

#include <string>

#include "tree_text.h"

namespace h5mount::tree {

// Appends a line for the root and for every link, in the order of listings; enters groups only at their own
// paths, so it terminates. The line of a damaged object contains the reason.
Status append_metadata_lines(const ServedFilePtr& file, TreeText& out, RequestBudget& budget);

// The JSON text with the numbers that strict JSON lacks (NaN, Infinity, -Infinity) as strings.
std::string strict_json(std::string_view json);

}  // namespace h5mount::tree

// The whole tree of a file as lines of strict JSON, an object a line, depth first: what /.h5/metadata.jsonl
// holds. Threads: any.
#pragma once

#include <string>

#include "served_file.h"

namespace h5mount::tree {

// Appends a line for the root and for every link, in the order of listings, and goes below groups at their
// own places only, so that it ends. What is damaged has a line that says why. LimitExceeded where the text
// would be longer than `most_bytes`.
Status append_metadata_lines(const ServedFilePtr& file, std::uint64_t most_bytes, std::string& out);

// The same JSON text with the numbers that strict JSON lacks (NaN, Infinity, -Infinity) as strings.
std::string strict_json(std::string_view json);

}  // namespace h5mount::tree

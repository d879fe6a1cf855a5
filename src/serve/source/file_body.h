// Bodies that are read from a file of a tree. Threads: one at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../http/body.h"
#include "../http/byte_ranges.h"
#include "source.h"

namespace h5mount::serve {

// Ranges of an open file, each preceded by text (the header of a part), and a text at the end. Nothing of the
// file is held in memory between two reads.
struct FilePart {
  std::string before;
  Range range;
};
BodyPtr make_file_body(std::shared_ptr<const Snapshot> snapshot, std::shared_ptr<tree::OpenNode> file,
                       std::vector<FilePart> parts, std::string end);

// A file whose size is unknown, up to its end.
BodyPtr make_stream_body(std::shared_ptr<const Snapshot> snapshot, std::shared_ptr<tree::OpenNode> file);

}  // namespace h5mount::serve

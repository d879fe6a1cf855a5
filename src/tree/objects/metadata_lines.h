// The whole tree of a file, depth first: lines of strict JSON, one for each object, which are the content of
// /.h5/metadata.jsonl, and rows of the catalogue of many files. Threads: any.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "../core/served_file.h"
#include "h5mount/tree/catalogue_row.h"
#include "tree_text.h"

namespace h5mount::tree {

// A view that does not show an object, or not all of it, and why.
struct AbsentView {
  std::string_view directory;
  std::string why;
};
struct GroupViews {
  std::vector<AbsentView> absent;
  std::vector<OpenedObjectPtr> opened;  // members, to find that out
};
// Tells these of a group: what knows tables is above this folder.
using ViewsOfGroup = GroupViews (*)(ServedFile& file, const OpenedObject& group, RequestBudget& budget);

// Appends a line for the root and for every link, in the order of listings; enters groups only at their own
// paths, so it terminates. The line of a damaged object contains the reason.
Status append_metadata_lines(const ServedFilePtr& file, ViewsOfGroup views, TreeText& out,
                             RequestBudget& budget);

// Facts in the rows that may be different another time, although the file is the same.
struct PassingFacts {
  bool others = false;    // they depend on other files that the file names, or it is being written
  bool failures = false;  // something was not read for a reason that may pass
};

// The same objects as rows of a catalogue, which have more: `size`, `mtime`, and the `value` of a dataset of
// few elements. The file that an external link names is `target_file` here, as the catalogue itself adds a
// member `file`. Errors: those of `take`, too.
using TakeCatalogueRow = std::function<Status(const CatalogueRow& row)>;
Status read_catalogue_rows(const ServedFilePtr& file, ViewsOfGroup views, const TakeCatalogueRow& take,
                           RequestBudget& budget, PassingFacts& facts);

}  // namespace h5mount::tree

// FileObject of one object of a served file.
#pragma once

#include "../core/served_file.h"
#include "h5mount/tree/file_object.h"

namespace h5mount::tree {

Result<FileObjectPtr> open_file_object(const ServedFilePtr& file, std::uint64_t address,
                                       RequestBudget& budget);

}  // namespace h5mount::tree

// What is opened in the place of a file's own bytes, for all files of the process: salvage. Set once, before
// any file is opened. Threads: `prepared_source` from any.
#pragma once

#include <functional>
#include <memory>

#include "h5mount/io/byte_source.h"

namespace h5mount::metadata {

using PrepareSource =
    std::function<Result<std::shared_ptr<io::ByteSource>>(const std::shared_ptr<io::ByteSource>& file)>;

// Null: files are opened as they are.
void prepare_sources(PrepareSource prepare);
// The source to open for `file`: itself where nothing is set. Sources that were made already are not asked
// about again (io/remarks.h).
Result<std::shared_ptr<io::ByteSource>> prepared_source(const std::shared_ptr<io::ByteSource>& file);

}  // namespace h5mount::metadata

// The source of a command, opened by its options, and the tree of it: what mounting and the commands without
// a mount have in common.
#pragma once

#include <memory>
#include <string>

#include "h5mount/cache/block_cache.h"
#include "h5mount/object/file_set.h"
#include "h5mount/tree/tree.h"
#include "mount_options.h"
#include "status_report.h"

namespace h5mount::cli {

// Where `code` is not 0, why it cannot be opened; it has been printed.
struct OpenedSource {
  int code = 0;
  std::shared_ptr<object::FileSet> files;
};
OpenedSource open_source(const std::string& file, const MountOptions& options);

// Decoded data that stay in memory: as asked for, else a part of the machine's or the container's memory.
std::shared_ptr<cache::BlockCache> make_cache(const MountOptions& options);

// Whether what cannot be read is logged by the tree, or named by whoever reads.
enum class FailedReads { Logged, Named };

// `file`: opened once more where it is reloaded. `status` is the text of /.h5/status. Warns of a file whose
// end is missing: what is left of it is shown.
Result<std::shared_ptr<tree::Tree>> make_tree(const std::string& file, const MountOptions& options,
                                              const std::shared_ptr<object::FileSet>& files,
                                              const std::shared_ptr<cache::BlockCache>& cache,
                                              const std::shared_ptr<MountStatus>& status,
                                              FailedReads failed_reads);

// `h5mount: FILE: words`, on stderr.
void tell(const std::string& about, const std::string& words);

}  // namespace h5mount::cli

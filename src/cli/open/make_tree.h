// The tree of opened sources, or their forest, and what it works with: cache, workers.
#pragma once

#include <functional>
#include <memory>

#include "h5mount/cache/block_cache.h"
#include "h5mount/cache/worker_pool.h"
#include "h5mount/tree/forest.h"
#include "h5mount/tree/tree.h"
#include "open_source.h"
#include "status_report.h"

namespace h5mount::cli {

// The cache of decoded data: of the given size, or else of a fraction of the machine's or the container's
// memory.
std::shared_ptr<cache::BlockCache> make_cache(const MountOptions& options);

std::shared_ptr<cache::WorkerPool> make_workers(const MountOptions& options);

// Whether failed reads are logged by the tree, or reported by the reader.
enum class FailedReads { Logged, Named };

tree::TreeOptions tree_options(const MountOptions& options, const std::shared_ptr<MountStatus>& status,
                               FailedReads failed_reads);

// A file is opened once more for every reload. `status` returns the text of /.h5/status. Warns about a file
// whose end is missing: the part that exists is shown.
Result<std::shared_ptr<tree::Tree>> make_tree(const OpenedSources& sources, const MountOptions& options,
                                              const std::shared_ptr<cache::BlockCache>& cache,
                                              const std::shared_ptr<MountStatus>& status,
                                              FailedReads failed_reads);
// The readers of a tree of many sources: the user who runs this program; any user, as far as the kernel lets
// them; or any user, while nobody else checks what they may read.
enum class Readers : std::uint8_t { Own, AsKernelLets, Any };
// For many sources.
std::shared_ptr<tree::Forest> make_forest(const OpenedSources& sources, const MountOptions& options,
                                          const std::shared_ptr<cache::BlockCache>& cache,
                                          const std::shared_ptr<cache::WorkerPool>& workers,
                                          const std::shared_ptr<MountStatus>& status,
                                          FailedReads failed_reads, Readers readers);

// How the sources, which are many, are joined.
Result<join::PlanPtr> plan_of(const OpenedSources& sources, const join::Options& join,
                              const std::shared_ptr<cache::WorkerPool>& workers);
// Calls `found` for each file and each variable that is not joined, and why; with an empty path if nothing
// is.
void for_each_not_joined(const Result<join::PlanPtr>& plan,
                         const std::function<void(const std::string& path, const Error& why)>& found);

}  // namespace h5mount::cli

// The source of a command, opened according to its options, and its tree: shared by mounting and the commands
// without a mount.
#pragma once

#include <memory>
#include <string>

#include "h5mount/cache/block_cache.h"
#include "h5mount/cache/worker_pool.h"
#include "h5mount/object/file_set.h"
#include "h5mount/tree/tree.h"
#include "mount_options.h"
#include "salvage_files.h"
#include "status_report.h"

namespace h5mount::cli {

// Opens FILE, once. The error is one line that says why it cannot be opened, and the remedy: missing, not to
// be read by this user, no regular file, another format, damaged. `memory`: what bounds all that is kept
// decoded, shared by all files that a program has open; null: a bound for FILE and those that it names.
// With the option salvage FILE is salvaged as it is opened; `WhenNeeded`: only where it cannot be opened
// otherwise, and make_tree does the rest.
enum class Salvaging : std::uint8_t { AtOnce, WhenNeeded };
Result<std::shared_ptr<object::FileSet>> open_source(const std::string& file, const MountOptions& options,
                                                     const std::shared_ptr<SharedCache>& memory = nullptr,
                                                     Salvaging salvaging = Salvaging::AtOnce,
                                                     const std::function<bool()>& go_on = nullptr);
Result<std::shared_ptr<object::FileSet>> open_source(const std::string& file,
                                                     const object::ExternalAccess& access,
                                                     const metadata::MetadataOptions& options,
                                                     const SalvageUse& salvage = {});
// Of a program that ends with such an error.
int exit_code_of(const Error& error);

// The cache of decoded data: of the given size, else of a part of the machine's or the container's memory.
std::shared_ptr<cache::BlockCache> make_cache(const MountOptions& options);

std::shared_ptr<cache::WorkerPool> make_workers(const MountOptions& options);

// Whether failed reads are logged by the tree, or reported by the reader.
enum class FailedReads { Logged, Named };

tree::TreeOptions tree_options(const MountOptions& options, const std::shared_ptr<MountStatus>& status,
                               FailedReads failed_reads);

// `file`: opened once more for every reload. `status` returns the text of /.h5/status. Warns about a file
// whose end is missing: what exists of it is shown.
Result<std::shared_ptr<tree::Tree>> make_tree(const std::string& file, const MountOptions& options,
                                              const std::shared_ptr<object::FileSet>& files,
                                              const std::shared_ptr<cache::BlockCache>& cache,
                                              const std::shared_ptr<MountStatus>& status,
                                              FailedReads failed_reads);

// Prints `h5mount: FILE: words` on stderr.
void print_error(const std::string& about, const std::string& words);

}  // namespace h5mount::cli

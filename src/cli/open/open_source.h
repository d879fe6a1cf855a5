// The source of a command, opened according to its options, and its tree: shared by mounting and the commands
// without a mount.
#pragma once

#include <memory>
#include <string>

#include "../words/mount_options.h"
#include "../words/source_arguments.h"
#include "h5mount/cache/block_cache.h"
#include "h5mount/cache/worker_pool.h"
#include "h5mount/object/file_set.h"
#include "h5mount/tree/forest.h"
#include "h5mount/tree/tree.h"
#include "salvage_files.h"
#include "status_report.h"

namespace h5mount::cli {

// Opens FILE, once. The error is one line that says why it cannot be opened (missing, not readable by this
// user, not a regular file, another format, damaged) and the remedy. `memory`: the bound on everything that
// is kept decoded, shared by all files that a program has open; null: a bound of its own for FILE and the
// files that it names.
Result<std::shared_ptr<object::FileSet>> open_source(const std::string& file, const MountOptions& options,
                                                     const std::shared_ptr<SharedCache>& memory = nullptr);
struct OpenOptions {
  object::ExternalAccess access;
  metadata::MetadataOptions metadata;
  SalvageUse salvage;
  remote::Options remote;
};
Result<std::shared_ptr<object::FileSet>> open_source(const std::string& file, const OpenOptions& how);
// Whether such an error of opening FILE says nothing of its content: it could not be read, or had better not
// be.
bool cannot_be_read(const Error& error);
// The exit code of a program that ends with such an error.
int exit_code_of(const Error& error);

// The cache of decoded data: of the given size, or else of a fraction of the machine's or the container's
// memory.
std::shared_ptr<cache::BlockCache> make_cache(const MountOptions& options);

std::shared_ptr<cache::WorkerPool> make_workers(const MountOptions& options);

// Whether failed reads are logged by the tree, or reported by the reader.
enum class FailedReads { Logged, Named };

tree::TreeOptions tree_options(const MountOptions& options, const std::shared_ptr<MountStatus>& status,
                               FailedReads failed_reads);

// The sources of a command: one file, which is open, or many, which are opened as they are used.
struct OpenedSources {
  std::string name;  // for messages; it shows no secret
  std::shared_ptr<object::FileSet> files;
  tree::ForestDirectoryPtr many;
  std::shared_ptr<SharedCache> memory;
  std::string path;                                            // of the one file, as it is opened again
  std::shared_ptr<tree::CatalogueStore> remembered = nullptr;  // of many
};
// Errors: those of `open_source`; for many sources, that one is missing.
Result<OpenedSources> open_sources(const SourceArguments& words, const MountOptions& options,
                                   const SalvageUse& salvage,
                                   const std::shared_ptr<SharedCache>& memory = nullptr);
// The use of salvage that the options ask for.
SalvageUse salvage_use(const MountOptions& options);

// A file is opened once more for every reload. `status` returns the text of /.h5/status. Warns about a file
// whose end is missing: the part that exists is shown.
Result<std::shared_ptr<tree::Tree>> make_tree(const OpenedSources& sources, const MountOptions& options,
                                              const std::shared_ptr<cache::BlockCache>& cache,
                                              const std::shared_ptr<MountStatus>& status,
                                              FailedReads failed_reads);
// Who reads a tree of many sources: the user who runs this program; any user, as far as the kernel lets them;
// or any user, while nobody else checks what they may read.
enum class Readers : std::uint8_t { Own, AsKernelLets, Any };
// For many sources.
std::shared_ptr<tree::Forest> make_forest(const OpenedSources& sources, const MountOptions& options,
                                          const std::shared_ptr<cache::BlockCache>& cache,
                                          const std::shared_ptr<cache::WorkerPool>& workers,
                                          const std::shared_ptr<MountStatus>& status,
                                          FailedReads failed_reads, Readers readers);

// Prints `h5mount: FILE: words` on stderr.
void print_error(const std::string& about, const std::string& words);

}  // namespace h5mount::cli

// The sources of a command, opened according to its options.
#pragma once

#include <memory>
#include <string>

#include "../words/mount_options.h"
#include "../words/source_arguments.h"
#include "h5mount/object/file_set.h"
#include "h5mount/tree/forest.h"
#include "policy_gate.h"
#include "salvage_files.h"

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
  PolicyPtr policy;
};
Result<std::shared_ptr<object::FileSet>> open_source(const std::string& file, const OpenOptions& how);
// The sources of a command: one file, which is open, or many, which are opened as they are used.
struct OpenedSources {
  std::string name;  // for messages; it shows no secret
  std::shared_ptr<object::FileSet> files;
  tree::ForestDirectoryPtr many;
  std::shared_ptr<SharedCache> memory;
  std::string path;  // of the one file, as it is opened again: absolute
  std::shared_ptr<tree::CatalogueStore> remembered = nullptr;  // of many
  bool far = false;                                            // one of many is a URL
  bool listed = false;                                         // some of many are from a list
};
// Errors: those of `open_source`; for many sources, that one is missing.
Result<OpenedSources> open_sources(const SourceArguments& words, const MountOptions& options,
                                   const SalvageUse& salvage,
                                   const std::shared_ptr<SharedCache>& memory = nullptr);
unsigned decoding_threads(const MountOptions& options);
// The use of salvage that the options ask for.
SalvageUse salvage_use(const MountOptions& options);

}  // namespace h5mount::cli

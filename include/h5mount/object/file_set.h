// The files of one mount: the mounted file and those it names (external links, external raw data, virtual dataset
// sources), opened under the user's policy, lazily, once, and closed when nobody uses them.
//
// Names come from strangers' files: `Beneath` resolves them under the directory of the mounted file with openat2
// (RESOLVE_BENEATH, no magic links), regular files only, never blocking on a FIFO. Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/metadata/file_metadata.h"

namespace h5mount {

enum class ExternalPolicy : std::uint8_t { Beneath, Any, None };

// One open HDF5 file and where it stands.
struct OpenedFile {
  FileMetadataPtr metadata;
  std::string path;       // absolute where known; empty for memory
  std::string directory;  // its directory, absolute; names it holds resolve against it
};
using OpenedFilePtr = std::shared_ptr<const OpenedFile>;

class FileSet {
 public:
  // `path`: of the mounted file, or a set's name ("run-%05d.h5"); empty for a file without a directory (memory):
  // then nothing else can be opened.
  static Result<std::shared_ptr<FileSet>> open(const std::string& path, ExternalPolicy policy,
                                               const MetadataOptions& options);
  static Result<std::shared_ptr<FileSet>> open(std::shared_ptr<ByteSource> source, const MetadataOptions& options);
  virtual ~FileSet() = default;

  virtual const OpenedFilePtr& main() const = 0;

  // The HDF5 file that `from` names ("." and its own name are `from` itself). Absolute names are AccessDenied under
  // Beneath unless they lie beneath the directory. Errors: AccessDenied, NotFound, and what opening it finds.
  virtual Result<OpenedFilePtr> open_hdf5(const OpenedFilePtr& from, std::string_view name) = 0;
  // A raw data file, as above.
  virtual Result<std::shared_ptr<ByteSource>> open_raw(const OpenedFilePtr& from, std::string_view name) = 0;

  // All HDF5 files that are open, the mounted one first; whether one of them is followed; and who is told, in the
  // thread that did it, when another one was opened (null: nobody).
  virtual std::vector<OpenedFilePtr> open_files() const = 0;
  virtual bool follows() const = 0;
  // So many are open that none should be kept just because it may be wanted again.
  virtual bool crowded() const = 0;
  virtual void when_opened(std::function<void()> told) = 0;
};

}  // namespace h5mount

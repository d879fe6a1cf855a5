// The files of one mount: the mounted file and those it names (external links, external raw data, virtual
// dataset sources), opened under the user's policy (external_access.h), lazily and once, and closed after
// their last use.
//
// Names from files are not trusted: they are resolved beneath the allowed directories with openat2
// (RESOLVE_BENEATH, no magic links), regular files only, never blocking on a FIFO, never through a mount of
// h5mount. When many files are open, the descriptors of all but the mounted one (the first member of a set)
// may be closed and reopened (io/descriptors.h). Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/metadata/followed_file.h"
#include "h5mount/object/source_opener.h"

namespace h5mount::object {

// One open HDF5 file and its directory, from which the names in it are resolved. A file that is opened
// through two directories has two of these.
struct OpenedFile {
  std::shared_ptr<metadata::FollowedFile> followed;
  std::string path = {};       // absolute if known; empty for memory
  std::string directory = {};  // of `path`; names in the file are searched here first
  // If `path` is a symlink: the directory of its target, which is searched next; else empty.
  std::string target_directory = {};
  FileAttributes attributes = {};  // of the first member of a set

  metadata::FileMetadataPtr snapshot() const { return followed->snapshot(); }
  // The metadata by which the things that an object header refers to are read, once the header was read: see
  // FileMetadata::reread.
  metadata::FileMetadataPtr reread() const {
    const metadata::FileMetadataPtr newest = snapshot();
    const metadata::FileMetadataPtr again = newest->reread();
    return again ? again : newest;
  }
};
using OpenedFilePtr = std::shared_ptr<const OpenedFile>;

class FileSet {
 public:
  // `name`: that of the mounted file or of a set ("run-%05d.h5"), as `opener` understands it; the set keeps
  // the opener.
  static Result<std::shared_ptr<FileSet>> open(const std::string& name, std::shared_ptr<SourceOpener> opener,
                                               const metadata::MetadataOptions& options);
  // The same for a local file.
  static Result<std::shared_ptr<FileSet>> open(const std::string& path, const ExternalAccess& access,
                                               const metadata::MetadataOptions& options);
  // For a source that is open already; nothing else can be opened from it.
  static Result<std::shared_ptr<FileSet>> open(std::shared_ptr<io::ByteSource> source,
                                               const metadata::MetadataOptions& options);
  virtual ~FileSet() = default;

  virtual const OpenedFilePtr& main() const = 0;

  // The HDF5 file that `from` names ("." is `from` itself). Errors: AccessDenied (the message names the
  // option that would allow it), NotFound, and those of opening the file. With ExternalAccess::for_others,
  // AccessDenied also for a virtual source or raw file that fewer users may read than `from`, but not for a
  // link's file, as its nodes show its own mode.
  virtual Result<OpenedFilePtr> open_hdf5(const OpenedFilePtr& from, std::string_view name, NameUse use) = 0;
  // Opens a raw data file; the rest is as above.
  virtual Result<std::shared_ptr<io::ByteSource>> open_raw(const OpenedFilePtr& from,
                                                           std::string_view name) = 0;

  // Whether the mounted file was opened as it is, and `salvaged` may show more of it. `salvaged` returns the
  // same files, with as much of the mounted one as can still be known; null if that is no more. See
  // SourceOpener.
  virtual bool may_be_salvaged() const = 0;
  virtual Result<std::shared_ptr<FileSet>> salvaged(const std::function<bool()>& go_on) const = 0;

  virtual const ExternalAccess& access() const = 0;
  // The bound on everything that is kept decoded of these files (MetadataOptions::memory).
  virtual const std::shared_ptr<SharedCache>& memory() const = 0;

  // All open HDF5 files, the mounted one first; whether any of them is followed (SWMR); and the callback that
  // the opening thread runs after it has opened another file (null: none).
  virtual std::vector<OpenedFilePtr> open_files() const = 0;
  virtual bool follows() const = 0;
  // True if so many files are open that none should be kept for possible later use.
  virtual bool many_open() const = 0;
  virtual void when_opened(std::function<void()> callback) = 0;

  // Whether `salvaged` gives the fill value for bytes that cannot be known.
  virtual bool salvage_fills() const = 0;
};

}  // namespace h5mount::object

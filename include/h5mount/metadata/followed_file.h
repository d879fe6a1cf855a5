// FollowedFile: an open HDF5 file that may change, as a sequence of immutable snapshots.
//
// The newest snapshot is taken when a check (an fstat, at most every `revalidate_interval`) finds that the
// file changed and it is followed, or when a structure was torn. Whoever reads pins the snapshot it started
// with; that stays as it is, for as long as it is held. A file that is not followed has one snapshot; once it
// has changed it is Stale. There is no thread in the background: who is about to use the file calls
// `revalidate` or `current`.
//
// Threads: any. No lock is held while the file is read; of several threads that find it changed one reads its
// superblock while the others go on with the snapshot before.
#pragma once

#include <cstdint>
#include <memory>

#include "h5mount/base/shared_slot.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

class FileWatch;  // private to the module

class FollowedFile {
 public:
  // Arguments and errors as of FileMetadata::open.
  static Result<std::shared_ptr<FollowedFile>> open(std::shared_ptr<io::ByteSource> file,
                                                    const MetadataOptions& options);
  // A file that never changes, of which this is the snapshot.
  explicit FollowedFile(FileMetadataPtr only);
  ~FollowedFile();
  FollowedFile(const FollowedFile&) = delete;
  FollowedFile& operator=(const FollowedFile&) = delete;

  // The newest snapshot, without a check.
  FileMetadataPtr snapshot() const { return newest_.load(); }
  // The newest after `revalidate`.
  Result<FileMetadataPtr> current();

  // Errors of the following: Stale where the file has changed and is not followed, or where another file has
  // taken its name.
  //
  // Checks whether the file changed, unless that was done less than revalidate_interval ago.
  Status revalidate();
  // The same whenever that was.
  Status revalidate_now();
  // For whoever has read from the file and is about to pass it on: `revalidate_now`, unless the file is
  // followed. Success says that all that was read before the call is of the state in which the file was
  // opened: write(2) moves a file's times before it changes bytes. Not seen are writes within the clock tick
  // in which the file was opened (open waits for its end), and writes through a shared mapping until the
  // kernel notes them.
  Status confirm_unchanged();

  // A snapshot that was taken after `torn`, in which a structure was half written.
  FileMetadataPtr snapshot_after(const FileMetadataPtr& torn);

  bool following() const;
  // Whether a change was seen in the last seconds, so that a structure may be torn.
  bool changed_lately() const;
  std::chrono::milliseconds retry_for() const { return retry_for_; }

  // Raw data and metadata by address, whatever the snapshot.
  const std::shared_ptr<io::ByteSource>& addresses() const { return addresses_; }
  std::uint64_t base_address() const { return base_address_; }

 private:
  FollowedFile(std::shared_ptr<io::ByteSource> file, const MetadataOptions& options,
               const io::SourceStamp& opened, FileMetadataPtr first);
  Status check(bool at_once);

  const std::shared_ptr<io::ByteSource> addresses_;
  const std::uint64_t base_address_;
  const std::chrono::milliseconds retry_for_;
  SharedSlot<const FileMetadata> newest_;
  const std::unique_ptr<FileWatch> watch_;  // null: the file never changes
};

}  // namespace h5mount::metadata

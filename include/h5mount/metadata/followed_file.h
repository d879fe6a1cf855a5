// FollowedFile: an open HDF5 file that may change, as a sequence of immutable snapshots.
//
// The next snapshot is taken when a check (an fstat, at most every `revalidate_interval`) finds that a
// followed file changed, or when a structure was torn. A reader keeps the snapshot it started with, which
// never changes. A file that is not followed has one snapshot; once it has changed it is Stale. There is no
// background thread: a user of the file calls `revalidate` or `current` first.
//
// Threads: any. No lock is held while the file is read; if several threads find a change, one reads the
// superblock and the others continue with the previous snapshot.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "h5mount/base/shared_slot.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

class FileWatch;  // private to the module

// Attempts to read torn structures (metadata/torn_retry.h).
struct RetryCounters {
  std::atomic<std::uint64_t> attempts{0};      // attempts after the first one
  std::atomic<std::uint64_t> milliseconds{0};  // slept before them
};

class FollowedFile {
 public:
  // Arguments and errors are as for FileMetadata::open.
  static Result<std::shared_ptr<FollowedFile>> open(std::shared_ptr<io::ByteSource> file,
                                                    const MetadataOptions& options);
  // Makes a file that never changes, with its only snapshot.
  explicit FollowedFile(const FileMetadataPtr& only);
  ~FollowedFile();
  FollowedFile(const FollowedFile&) = delete;
  FollowedFile& operator=(const FollowedFile&) = delete;

  // The newest snapshot, without a check.
  FileMetadataPtr snapshot() const { return newest_.load(); }
  // Calls `revalidate`, then returns the newest snapshot.
  Result<FileMetadataPtr> current();

  // The three functions below fail with Stale if the file has changed and is not followed, or if another file
  // has taken its name.
  //
  // Checks whether the file changed, unless a check was made less than revalidate_interval ago.
  Status revalidate();
  // The same, however long ago the last check was.
  Status revalidate_now();
  // For a caller that has read from the file and is about to pass the bytes on: `revalidate_now`, unless the
  // file is followed. If the source checks each read itself (io/source_state.h), no check is made. Success
  // means that all bytes read before the call are of the state in which the file was opened: write(2) updates
  // a file's times before it changes bytes. Not detected are writes within the clock tick in which the file
  // was opened (open waits for its end), and writes through a shared mapping until the kernel notes them.
  Status confirm_unchanged();

  // A snapshot that was taken after `torn`, through which a half-written structure was read.
  FileMetadataPtr snapshot_after(const FileMetadataPtr& torn);

  bool following() const;
  // Whether a change was detected in the last seconds, so that a structure may be torn.
  bool changed_lately() const;
  std::chrono::milliseconds retry_for() const { return retry_for_; }

  RetryCounters& retries() { return retries_; }

  // The file's bytes by address; the same for all snapshots.
  const std::shared_ptr<io::ByteSource>& source() const { return source_; }
  std::uint64_t base_address() const { return base_address_; }

 private:
  FollowedFile(std::shared_ptr<io::ByteSource> file, const MetadataOptions& options,
               const io::SourceStamp& opened, const FileMetadataPtr& first);
  Status check(bool at_once);

  const std::shared_ptr<io::ByteSource> source_;
  const std::uint64_t base_address_;
  const std::chrono::milliseconds retry_for_;
  const bool checks_reads_;  // the source detects changes as it reads
  SharedSlot<const FileMetadata> newest_;
  RetryCounters retries_;
  const std::unique_ptr<FileWatch> watch_;  // null: the file never changes
};

}  // namespace h5mount::metadata

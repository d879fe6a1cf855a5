#include "h5mount/metadata/followed_file.h"

#include <cerrno>

#include "file_snapshot.h"
#include "file_watch.h"
#include "h5mount/base/checked.h"
#include "h5mount/metadata/probe.h"

namespace h5mount::metadata {
namespace {

// The meaning of a block of another version is not known. One that cannot be read says nothing that
// is needed here: the members of a set were found by it.
Status check_driver_block(const io::ByteSource& file, std::uint64_t place,
                          const format::Superblock& superblock) {
  const auto at = checked_add(place, superblock.driver_info_address);
  if (superblock.driver_info_address == format::kUndefinedAddress || !at) return {};
  std::byte version{};
  if (!file.read_at(*at, {&version, 1})) return {};
  format::Cursor cursor({&version, 1}, *at, "DriverInfoBlock", superblock.sizes);
  cursor.version(0, 0);
  return cursor.finish();
}

}  // namespace

Result<std::shared_ptr<FollowedFile>> FollowedFile::open(std::shared_ptr<io::ByteSource> file,
                                                         const MetadataOptions& options) {
  H5_ASSIGN(const io::SourceStamp opened, io::settled_stamp(file->state()));
  H5_ASSIGN(const std::uint64_t place, locate_superblock(*file));
  H5_ASSIGN(const format::Superblock superblock, load_superblock(*file, place));
  if (superblock.open_for_writing() && !superblock.open_for_swmr_writing() && !options.force)
    return fail(io_error(EBUSY, file->name() +
                                    " is open for writing, or its writer died (superblock status flags; the "
                                    "option force opens it, salvage also where a writer died)"));
  H5_TRY(check_driver_block(*file, place, superblock));
  const auto parts = std::make_shared<SnapshotParts>(
      file, place, superblock, options.memory ? options.memory : std::make_shared<SharedCache>());
  H5_ASSIGN(FileMetadataPtr first,
            FileSnapshot::open_first(parts, FileWatch::follows(options, superblock.open_for_swmr_writing())));
  std::shared_ptr<FollowedFile> followed(
      new FollowedFile(std::move(file), options, opened, std::move(first)));
  H5_TRY(followed->confirm_unchanged());
  return followed;
}

Result<FileMetadataPtr> FileMetadata::open(std::shared_ptr<io::ByteSource> file,
                                           const MetadataOptions& options) {
  H5_ASSIGN(const auto followed, FollowedFile::open(std::move(file), options));
  return followed->snapshot();
}

FollowedFile::FollowedFile(const FileMetadataPtr& only)
    : source_(only->source()),
      base_address_(only->base_address()),
      retry_for_(0),
      checks_reads_(true),
      newest_(only) {}

FollowedFile::FollowedFile(std::shared_ptr<io::ByteSource> file, const MetadataOptions& options,
                           const io::SourceStamp& opened, const FileMetadataPtr& first)
    : source_(first->source()),
      base_address_(first->base_address()),
      retry_for_(options.retry_for),
      checks_reads_(file->state().checks_reads()),
      newest_(first),
      watch_(
          std::make_unique<FileWatch>(std::move(file), base_address_, options, first->following(), opened)) {}

FollowedFile::~FollowedFile() = default;

Status FollowedFile::check(bool at_once) {
  if (!watch_) return {};
  H5_TRY(watch_->check(at_once, [this](bool following) {
    newest_.store(static_cast<const FileSnapshot&>(*newest_.load()).next(following));
  }));
  return watch_->status();
}

Status FollowedFile::revalidate() {
  return check(false);
}

Status FollowedFile::revalidate_now() {
  return check(true);
}

Status FollowedFile::confirm_unchanged() {
  if (following()) return {};
  if (checks_reads_) return watch_ ? watch_->status() : Status{};
  return check(true);
}

Result<FileMetadataPtr> FollowedFile::current() {
  H5_TRY(revalidate());
  return snapshot();
}

// If several threads met the same torn structure, one takes the next snapshot and all use it.
FileMetadataPtr FollowedFile::snapshot_after(const FileMetadataPtr& torn) {
  (void)revalidate_now();
  FileMetadataPtr newest = newest_.load();
  if (newest != torn || !watch_) return newest;
  FileMetadataPtr next = static_cast<const FileSnapshot&>(*torn).next(following());
  return newest_.compare_exchange(newest, next) ? next : newest;
}

bool FollowedFile::following() const {
  return watch_ && watch_->following();
}

bool FollowedFile::changed_lately() const {
  return watch_ && watch_->changed_lately();
}

}  // namespace h5mount::metadata

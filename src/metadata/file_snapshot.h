// FileSnapshot: the snapshot of a file on a ByteSource (FileMetadata), and what its snapshots share.
#pragma once

#include <memory>

#include "h5mount/format/shared_message_table.h"
#include "h5mount/format/superblock.h"
#include "h5mount/metadata/file_metadata.h"
#include "h5mount/metadata/foreign_heaps.h"
#include "h5mount/metadata/shared_messages.h"
#include "image_overlay.h"
#include "metadata_caches.h"
#include "window_cache.h"

namespace h5mount::metadata {

// The parts that all snapshots of an open file share: constants, and the caches, in which each snapshot has
// its own entries.
struct SnapshotParts {
  SnapshotParts(std::shared_ptr<io::ByteSource> opened, std::uint64_t place,
                const format::Superblock& decoded, const std::shared_ptr<SharedCache>& memory)
      : file(std::move(opened)),
        base(place),
        source(place == 0 ? file : io::make_sub_range_source(file, place)),
        superblock(decoded),
        windows(file, memory),
        caches(memory) {}

  const std::shared_ptr<io::ByteSource> file;
  const std::uint64_t base;                      // base of addresses: the superblock's offset
  const std::shared_ptr<io::ByteSource> source;  // `file` from its base address on
  format::Superblock superblock;
  ImageOverlay overlay;
  WindowCache windows;
  MetadataCaches caches;
  const std::shared_ptr<ForeignHeaps> foreign_heaps = std::make_shared<ForeignHeaps>();
};

class FileSnapshot final : public FileMetadata {
 public:
  // Makes the first snapshot: loads the superblock extension into `parts`.
  static Result<FileMetadataPtr> open_first(const std::shared_ptr<SnapshotParts>& parts, bool following);
  // Makes a later snapshot of the same file, without reading.
  FileMetadataPtr next(bool following) const;

  const format::Superblock& superblock() const override { return parts_->superblock; }
  format::FileSizes sizes() const override { return parts_->superblock.sizes; }
  std::uint64_t base_address() const override { return parts_->base; }
  std::uint64_t root_address() const override { return parts_->superblock.root_address; }
  const std::shared_ptr<io::ByteSource>& source() const override { return parts_->source; }
  const SharedMessages* shared_messages() const override { return shared_messages_.get(); }
  std::shared_ptr<ForeignHeaps> foreign_heaps() const override { return parts_->foreign_heaps; }
  std::uint64_t number() const override { return number_; }
  bool following() const override { return following_; }
  FileMetadataPtr reread() const override { return following_ ? next(true) : nullptr; }
  MetadataCaches* caches() const override { return &parts_->caches; }

  Result<MetadataBlock> read(std::uint64_t address, std::uint64_t length, std::string_view structure,
                             Among among) const override;
  Result<MetadataBlock> read_up_to(std::uint64_t address, std::uint64_t length, std::string_view structure,
                                   Among among) const override;

 private:
  FileSnapshot(std::shared_ptr<SnapshotParts> parts, bool following);
  Status load_extension();
  Result<std::uint64_t> bytes_left(std::uint64_t address, std::uint64_t wanted,
                                   std::string_view structure) const;
  Result<MetadataBlock> read_whole(std::uint64_t address, std::uint64_t length, std::string_view structure,
                                   Among among) const;
  Result<MetadataBlock> read_part(std::uint64_t address, std::uint64_t length, std::string_view structure,
                                  Among among) const;
  Result<MetadataBlock> read_bytes(std::uint64_t address, std::uint64_t length, std::string_view structure,
                                   Among among) const;

  const std::shared_ptr<SnapshotParts> parts_;
  const std::uint64_t number_;
  const bool following_;
  std::unique_ptr<SharedMessages> shared_messages_;  // refers to this snapshot
};

// The superblock extension (specification II.C): an object header whose messages describe the file.
struct SuperblockExtension {
  std::optional<format::BTreeKValues> k;
  std::optional<format::SharedMessageTableMessage> shared_message_table;
  std::optional<format::CacheImageMessage> cache_image;
  // The page size of paged file space; 0 if it is not paged, or if its message is damaged, which nothing
  // depends on.
  std::uint64_t page_bytes = 0;
  std::optional<Error> unsupported;  // by a message that must be understood: so is the file
  std::vector<Error> damage;         // errors of messages that could not be decoded; the others are present
};

Result<SuperblockExtension> load_superblock_extension(const FileMetadata& file, std::uint64_t address);

}  // namespace h5mount::metadata

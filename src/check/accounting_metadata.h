// AccountingMetadata: a snapshot of a file through which a check reads. It notes the space of each structure
// that is read through it: what was read, and what the structure's decoder says that it covers. It also reads
// what nothing else does: managers of free space, indexes of shared messages.
#pragma once

#include <functional>
#include <memory>
#include <unordered_set>
#include <vector>

#include "allocated_space.h"
#include "h5mount/metadata/file_metadata.h"
#include "h5mount/metadata/shared_messages.h"
#include "structure_ranges.h"

namespace h5mount::check {

class AccountingMetadata final : public metadata::FileMetadata,
                                 public std::enable_shared_from_this<AccountingMetadata> {
 public:
  // `damaged` receives the errors in structures that only this class reads, from any thread that reads
  // through it; errors in other structures are reported by their readers.
  using Damaged = std::function<void(const Error&)>;
  // `structures`: where each is, for a search for overlaps; may be null.
  AccountingMetadata(metadata::FileMetadataPtr file, AllocatedSpace& space, StructureRanges* structures,
                     Damaged damaged);

  // Notes the structures that no object leads to: superblock, its extension, the table of shared messages,
  // free-space managers and the space that they manage. To be called once, before other reads.
  void note_file_structures();

  const format::Superblock& superblock() const override { return file_->superblock(); }
  format::FileSizes sizes() const override { return file_->sizes(); }
  std::uint64_t base_address() const override { return file_->base_address(); }
  std::uint64_t root_address() const override { return file_->root_address(); }
  const std::shared_ptr<io::ByteSource>& source() const override { return file_->source(); }
  Result<metadata::MetadataBlock> read(std::uint64_t address, std::uint64_t length,
                                       std::string_view structure, metadata::Among among) const override;
  // The length is a guess, so nothing is noted: the decoder of what was read tells what it covers.
  Result<metadata::MetadataBlock> read_up_to(std::uint64_t address, std::uint64_t length,
                                             std::string_view structure,
                                             metadata::Among among) const override;
  const metadata::SharedMessages* shared_messages() const override {
    return shared_ ? shared_.get() : file_->shared_messages();
  }
  // Differs from the number of the snapshot, so that no structure is taken from the caches that was read
  // before.
  std::uint64_t number() const override { return number_; }
  bool following() const override { return file_->following(); }
  metadata::MetadataCaches* caches() const override { return file_->caches(); }
  void covers(std::uint64_t address, std::uint64_t bytes) const override { note(address, bytes, {}); }
  void refers_to(Referred structure, std::uint64_t address) const override;
  // The collections of the global heap that were read, to which only values lead.
  std::vector<std::uint64_t> collections() const;

 private:
  void note(std::uint64_t address, std::uint64_t bytes, std::string_view structure) const {
    space_.add(address, bytes);
    if (structures_ != nullptr) structures_->add(address, bytes, structure);
  }
  void keep(const Status& status) const {
    if (!status) damaged_(status.error());
  }
  bool is_new(std::uint64_t address) const;
  void note_tree(std::uint64_t address, std::uint8_t type) const;
  void note_superblock() const;
  void note_extension();
  void note_shared_messages(const format::SharedMessageTableMessage& message);
  Status note_shared_message_list(const format::SharedMessageIndex& index) const;
  enum class Space : std::uint8_t { OfFile, OfHeap };
  Status note_free_space_manager(std::uint64_t address, Space space) const;

  const metadata::FileMetadataPtr file_;
  AllocatedSpace& space_;
  StructureRanges* const structures_;
  const Damaged damaged_;
  const std::uint64_t number_;
  std::unique_ptr<metadata::SharedMessages> shared_;
  mutable Mutex mutex_;
  mutable std::unordered_set<std::uint64_t> collections_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::check

// AccountingMetadata: a snapshot of a file through which a check reads, and which notes the space that each
// structure takes up that is read through it. Where a reader needs less than a structure has been given (a
// node that is not full), the whole is noted.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>

#include "allocated_space.h"
#include "h5mount/metadata/file_metadata.h"
#include "h5mount/metadata/shared_messages.h"

namespace h5mount::check {

class AccountingMetadata final : public metadata::FileMetadata,
                                 public std::enable_shared_from_this<AccountingMetadata> {
 public:
  // `damaged` receives what is found in structures that nothing but this class reads, from any thread that
  // reads through it: the other structures are their readers' concern.
  using Damaged = std::function<void(const Error&)>;
  AccountingMetadata(metadata::FileMetadataPtr file, AllocatedSpace& space, Damaged damaged);

  // Notes what no object leads to: superblock, its extension, the table of shared messages, free-space
  // managers and the space that they manage. To be called once, before other reads.
  void note_file_structures();

  const format::Superblock& superblock() const override { return file_->superblock(); }
  format::FileSizes sizes() const override { return file_->sizes(); }
  std::uint64_t base_address() const override { return file_->base_address(); }
  std::uint64_t root_address() const override { return file_->root_address(); }
  const std::shared_ptr<io::ByteSource>& addresses() const override { return file_->addresses(); }
  Result<metadata::MetadataBlock> read(std::uint64_t address, std::uint64_t length,
                                       std::string_view structure) const override;
  Result<metadata::MetadataBlock> read_up_to(std::uint64_t address, std::uint64_t length,
                                             std::string_view structure) const override;
  const metadata::SharedMessages* shared_messages() const override {
    return shared_ ? shared_.get() : file_->shared_messages();
  }
  std::uint64_t source_reads() const override { return file_->source_reads(); }
  // Another one than that of the snapshot, so that no structure is found in the caches that was read before.
  std::uint64_t number() const override { return number_; }
  bool following() const override { return file_->following(); }
  metadata::MetadataCaches* caches() const override { return file_->caches(); }

 private:
  bool note(std::uint64_t address, std::uint64_t bytes) const { return space_.add(address, bytes); }
  void note_tree(std::uint64_t address, std::uint8_t type) const;
  void note_superblock() const;
  void note_extension();
  void note_shared_messages(std::uint64_t table, std::uint8_t indexes);
  void note_shared_message_list(std::uint64_t address, std::uint64_t record_bytes) const;
  void note_free_space_info(ByteSpan message) const;
  Status note_free_space_manager(std::uint64_t address, bool of_file) const;
  void keep(const Status& status) const {
    if (!status) damaged_(status.error());
  }
  void note_sections(ByteSpan sections, unsigned offset_bytes, unsigned size_bytes, unsigned count_bytes,
                     std::uint64_t count) const;
  void note_structure(const metadata::MetadataBlock& block, std::uint64_t address,
                      std::string_view structure) const;
  void note_fractal_heap(const metadata::MetadataBlock& block) const;
  void note_local_heap(const metadata::MetadataBlock& block, std::uint64_t address) const;
  void note_fixed_array(const metadata::MetadataBlock& block) const;
  void note_paged_data_block(const metadata::MetadataBlock& block, std::uint64_t address) const;
  void note_tree_header(const metadata::MetadataBlock& block) const;
  void note_tree_node(const metadata::MetadataBlock& block, std::uint64_t address) const;
  std::uint64_t number_at(ByteSpan bytes, std::size_t at, unsigned width) const;
  std::uint64_t chunk_node_bytes(std::uint64_t usual) const;

  const metadata::FileMetadataPtr file_;
  AllocatedSpace& space_;
  const Damaged damaged_;
  const std::uint64_t number_;
  static constexpr std::size_t kTreeTypes = 16;
  mutable std::array<std::atomic<std::uint32_t>, kTreeTypes> tree_node_bytes_{};  // of B-trees of each type
  std::unique_ptr<metadata::SharedMessages> shared_;
};

}  // namespace h5mount::check

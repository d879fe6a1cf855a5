// ClaimingMetadata: reads of a file that remember what was read, so that a walk through it tells which
// structures are referred to, and how many bytes it read. Threads: one at a time.
#pragma once

#include "h5mount/metadata/file_metadata.h"
#include "h5mount/metadata/shared_messages.h"
#include "used_ranges.h"

namespace h5mount::salvage {

class ClaimingMetadata final : public metadata::FileMetadata {
 public:
  // `read` and `used` must outlive it.
  ClaimingMetadata(metadata::FileMetadataPtr file, UsedRanges& used, std::uint64_t& read)
      : file_(std::move(file)), used_(used), read_(read) {}

  const format::Superblock& superblock() const override { return file_->superblock(); }
  format::FileSizes sizes() const override { return file_->sizes(); }
  std::uint64_t base_address() const override { return file_->base_address(); }
  std::uint64_t root_address() const override { return file_->root_address(); }
  const std::shared_ptr<io::ByteSource>& source() const override { return file_->source(); }
  const metadata::SharedMessages* shared_messages() const override { return file_->shared_messages(); }
  std::uint64_t number() const override { return file_->number() | kClaiming; }

  Result<metadata::MetadataBlock> read(std::uint64_t address, std::uint64_t length,
                                       std::string_view structure, metadata::Among among) const override {
    auto block = file_->read(address, length, structure, among);
    if (block) used_.add(address, length);
    if (block) read_ += length;
    return block;
  }
  // The structure's length is not known yet, so only its signature is claimed, which suffices to know that
  // the structure is referred to.
  Result<metadata::MetadataBlock> read_up_to(std::uint64_t address, std::uint64_t length,
                                             std::string_view structure,
                                             metadata::Among among) const override {
    auto block = file_->read_up_to(address, length, structure, among);
    if (block) read_ += block->bytes().size();
    if (block) used_.add(address, std::min<std::uint64_t>(block->bytes().size(), kSignature));
    return block;
  }

 private:
  static constexpr std::uint64_t kClaiming = 1ULL << 62;  // set in the numbers of these snapshots
  static constexpr std::uint64_t kSignature = 16;
  const metadata::FileMetadataPtr file_;
  UsedRanges& used_;
  std::uint64_t& read_;
};

}  // namespace h5mount::salvage

#include "h5mount/metadata/file_metadata.h"

#include <algorithm>

#include "file_watch.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/log.h"
#include "h5mount/metadata/probe.h"
#include "h5mount/metadata/shared_messages.h"
#include "image_overlay.h"
#include "metadata_caches.h"
#include "superblock_extension.h"
#include "window_cache.h"

namespace h5mount::metadata {
namespace {

class OpenFileMetadata final : public FileMetadata {
 public:
  OpenFileMetadata(std::shared_ptr<io::ByteSource> file, std::uint64_t place,
                   const format::Superblock& superblock, const MetadataOptions& options,
                   const io::SourceStamp& opened)
      : file_(std::move(file)),
        base_(place),
        superblock_(superblock),
        addresses_(place == 0 ? file_ : io::make_sub_range_source(file_, place)),
        windows_(file_),
        watch_(file_, place, options, superblock.open_for_swmr_writing(), opened) {}

  // The extension is read before the image is laid over the file: no image holds it.
  Status load_extension() {
    if (superblock_.extension_address == format::kUndefinedAddress) return {};
    auto extension = load_superblock_extension(*this, superblock_.extension_address);
    if (!extension) {
      log_error(extension.error().within("superblock extension of " + file_->name()));
      return {};
    }
    for (const Error& error : extension->damage)
      log_error(error.within("superblock extension of " + file_->name()));
    if (extension->k) superblock_.k = *extension->k;
    if (extension->cache_image) {
      H5_ASSIGN(overlay_, ImageOverlay::load(*this, *extension->cache_image));
    }
    if (extension->shared_message_table) load_shared_messages(*extension->shared_message_table);
    return {};
  }

  const format::Superblock& superblock() const override { return superblock_; }
  format::FileSizes sizes() const override { return superblock_.sizes; }
  std::uint64_t base_address() const override { return base_; }
  std::uint64_t root_address() const override { return superblock_.root_address; }
  const std::shared_ptr<io::ByteSource>& addresses() const override { return addresses_; }
  const SharedMessages* shared_messages() const override { return shared_messages_.get(); }
  std::uint64_t source_reads() const override { return windows_.source_reads(); }
  MetadataCaches* caches() const override { return &caches_; }

  Status look() const override { return looked(false); }
  Status revalidate_now() const override { return looked(true); }
  Status revalidate() const override { return watch_.following() ? Status{} : looked(true); }
  std::uint64_t generation() const override { return watch_.generation(); }
  bool following() const override { return watch_.following(); }
  void forget() const override {
    windows_.drop();
    caches_.collections.clear();
    caches_.shared_headers.clear();
  }
  void look_again() const override {
    (void)looked(true);
    forget();
    watch_.next_generation();
  }
  bool changed_lately() const override { return watch_.changed_lately(); }
  std::chrono::milliseconds retry_for() const override { return watch_.retry_for(); }

  Result<MetadataBlock> read(std::uint64_t address, std::uint64_t length,
                             std::string_view structure) const override {
    H5_ASSIGN(const std::uint64_t left, bytes_left(address, length, structure));
    if (length > left)
      return fail(Error(ErrorCode::Truncated, structure, "bytes", base_ + address)
                      .with_found(left)
                      .with_expected(length)
                      .with_detail("bytes left in the file"));
    return read_bytes(address, length, structure);
  }

  Result<MetadataBlock> read_up_to(std::uint64_t address, std::uint64_t length,
                                   std::string_view structure) const override {
    H5_ASSIGN(const std::uint64_t left, bytes_left(address, length, structure));
    return read_bytes(address, std::min(length, left), structure);
  }

 private:
  Status looked(bool at_once) const {
    watch_.look(at_once, [this] { forget(); });
    return watch_.status();
  }

  void load_shared_messages(const format::SharedMessageTableMessage& message) {
    if (auto loaded = SharedMessages::load(*this, message))
      shared_messages_ = *std::move(loaded);
    else
      log_error(loaded.error().within("superblock extension of " + file_->name()));
  }

  // Bytes from `address` to the end of the file, or of the image where that reaches further.
  Result<std::uint64_t> bytes_left(std::uint64_t address, std::uint64_t wanted,
                                   std::string_view structure) const {
    const auto offset = checked_add(base_, address);
    if (address == format::kUndefinedAddress || !offset)
      return fail(
          Error(ErrorCode::OutOfRange, structure, "address", address).with_detail("undefined address"));
    std::uint64_t size = file_->size();
    if (*offset >= size || wanted > size - *offset) {
      H5_TRY(file_->refresh());  // it may have grown
      size = file_->size();
    }
    std::uint64_t left = *offset < size ? size - *offset : 0;
    if (left < wanted && !overlay_.empty()) left = std::max(left, overlay_.end_of_run(address) - address);
    if (left == 0)
      return fail(Error(ErrorCode::OutOfRange, structure, "address", *offset)
                      .with_found(address)
                      .with_expected(size)
                      .with_detail("beyond end of file"));
    return left;
  }

  Result<MetadataBlock> read_bytes(std::uint64_t address, std::uint64_t length,
                                   std::string_view structure) const {
    if (length > limits::kMaxHeapObjectBytes)
      return fail(Error(ErrorCode::LimitExceeded, structure, "length", base_ + address)
                      .with_found(length)
                      .with_expected(limits::kMaxHeapObjectBytes));
    std::vector<std::byte> bytes(static_cast<std::size_t>(length));
    if (overlay_.empty() || !overlay_.apply(address, bytes)) {
      if (auto got = windows_.read(base_ + address, bytes); !got)
        return fail(got.error().within(structure, base_ + address));
      if (!overlay_.empty()) overlay_.apply(address, bytes);
    }
    return MetadataBlock(std::move(bytes), base_ + address, sizes());
  }

  const std::shared_ptr<io::ByteSource> file_;
  const std::uint64_t base_;
  format::Superblock superblock_;
  const std::shared_ptr<io::ByteSource> addresses_;
  WindowCache windows_;
  mutable FileWatch watch_;
  ImageOverlay overlay_;
  mutable MetadataCaches caches_;
  std::unique_ptr<SharedMessages> shared_messages_;  // refers to this
};

}  // namespace

Result<std::shared_ptr<const FileMetadata>> FileMetadata::open(std::shared_ptr<io::ByteSource> file,
                                                               const MetadataOptions& options) {
  H5_ASSIGN(const io::SourceStamp opened, io::settled_stamp(*file));
  H5_ASSIGN(const std::uint64_t place, locate_superblock(*file));
  H5_ASSIGN(const format::Superblock superblock, load_superblock(*file, place));
  if (superblock.open_for_writing() && !superblock.open_for_swmr_writing() && !options.force)
    return fail(Error(ErrorCode::AccessDenied,
                      file->name() + " is open for writing, or its writer died (superblock status flags); "
                                     "the option force opens it"));
  auto metadata = std::make_shared<OpenFileMetadata>(std::move(file), place, superblock, options, opened);
  H5_TRY(metadata->load_extension());
  H5_TRY(metadata->revalidate());
  return metadata;
}

}  // namespace h5mount::metadata

#include "file_snapshot.h"

#include <algorithm>
#include <atomic>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/log.h"
#include "h5mount/base/momentary.h"

namespace h5mount::metadata {
namespace {

constexpr std::uint64_t kPage = 4096;

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

FileSnapshot::FileSnapshot(std::shared_ptr<SnapshotParts> parts, bool following)
    : parts_(std::move(parts)), number_(next_number()), following_(following) {}

Result<FileMetadataPtr> FileSnapshot::open_first(const std::shared_ptr<SnapshotParts>& parts,
                                                 bool following) {
  std::shared_ptr<FileSnapshot> first(new FileSnapshot(parts, following));
  const MomentaryWatch watch;  // a file without its extension would lack it as long as it is open
  H5_TRY(watch.unless_met(first->load_extension()));
  return first;
}

FileMetadataPtr FileSnapshot::next(bool following) const {
  const std::shared_ptr<FileSnapshot> next(new FileSnapshot(parts_, following));
  if (shared_messages_) next->shared_messages_ = shared_messages_->read_through(*next);
  return next;
}

// The extension is read before the image is applied: no image contains it.
Status FileSnapshot::load_extension() {
  format::Superblock& superblock = parts_->superblock;
  if (superblock.extension_address == format::kUndefinedAddress) return {};
  auto extension = load_superblock_extension(*this, superblock.extension_address);
  const std::string place = "superblock extension of " + parts_->file->name();
  if (!extension) {
    log_error(extension.error().within(place));
    return {};
  }
  if (extension->unsupported) return fail(extension->unsupported->within(place));
  for (const Error& error : extension->damage) log_error(error.within(place));
  if (parts_->file->far()) {
    parts_->caches.pages = {parts_->base, extension->page_bytes};
    parts_->windows.set_pages(parts_->caches.pages);
  }
  if (extension->k) superblock.k = *extension->k;
  if (extension->cache_image) {
    H5_ASSIGN(parts_->overlay, ImageOverlay::load(*this, *extension->cache_image));
  }
  if (extension->shared_message_table) {
    if (auto loaded = SharedMessages::load(*this, *extension->shared_message_table))
      shared_messages_ = *std::move(loaded);
    else
      log_error(loaded.error().within(place));
  }
  return {};
}

Result<MetadataBlock> FileSnapshot::read(std::uint64_t address, std::uint64_t length,
                                         std::string_view structure, Among among) const {
  return noted_read(read_whole(address, length, structure, among));
}

Result<MetadataBlock> FileSnapshot::read_whole(std::uint64_t address, std::uint64_t length,
                                               std::string_view structure, Among among) const {
  H5_ASSIGN(const std::uint64_t left, bytes_left(address, length, structure));
  if (length > left)
    return fail(Error(ErrorCode::Truncated, structure, "bytes", parts_->base + address)
                    .with_found(left)
                    .with_expected(length)
                    .with_detail("bytes left in the file"));
  return read_bytes(address, length, structure, among);
}

Result<MetadataBlock> FileSnapshot::read_up_to(std::uint64_t address, std::uint64_t length,
                                               std::string_view structure, Among among) const {
  return noted_read(read_part(address, length, structure, among));
}

Result<MetadataBlock> FileSnapshot::read_part(std::uint64_t address, std::uint64_t length,
                                              std::string_view structure, Among among) const {
  H5_ASSIGN(const std::uint64_t left, bytes_left(address, length, structure));
  auto whole = read_bytes(address, std::min(length, left), structure, among);
  // A disk fails to give whole pages: what ends before such a page is read.
  const std::uint64_t in_page = kPage - (parts_->base + address) % kPage;
  if (!whole && is_of_range(whole.error()) && in_page < std::min(length, left))
    if (auto part = read_bytes(address, in_page, structure, among)) return part;
  if (whole || whole.error().code() != ErrorCode::Truncated) return whole;
  // If the source has a gap, the longest part before the gap is read.
  std::uint64_t most = std::min(length, left);
  for (std::uint64_t there = 0; most - there > 1;) {
    const std::uint64_t middle = there + (most - there) / 2;
    auto part = read_bytes(address, middle, structure, among);
    if (part) whole = std::move(part);
    (whole && whole->bytes().size() == middle ? there : most) = middle;
  }
  return whole;
}

// The number of bytes from `address` to the end of the file, or of the image if that extends further.
Result<std::uint64_t> FileSnapshot::bytes_left(std::uint64_t address, std::uint64_t wanted,
                                               std::string_view structure) const {
  const auto offset = checked_add(parts_->base, address);
  if (address == format::kUndefinedAddress || !offset)
    return fail(Error(ErrorCode::OutOfRange, structure, "address", address).with_detail("undefined address"));
  std::uint64_t size = parts_->file->size();
  if (*offset >= size || wanted > size - *offset) {
    H5_TRY(parts_->file->state().refresh());  // the file may have grown
    size = parts_->file->size();
  }
  std::uint64_t left = *offset < size ? size - *offset : 0;
  if (left < wanted && !parts_->overlay.empty())
    left = std::max(left, parts_->overlay.end_of_run(address) - address);
  if (left == 0)
    return fail(Error(ErrorCode::OutOfRange, structure, "address", *offset)
                    .with_found(address)
                    .with_expected(size)
                    .with_detail("beyond end of file"));
  return left;
}

Result<MetadataBlock> FileSnapshot::read_bytes(std::uint64_t address, std::uint64_t length,
                                               std::string_view structure, Among among) const {
  const ImageOverlay& overlay = parts_->overlay;
  const std::uint64_t offset = parts_->base + address;
  if (length > limits::kMaxHeapObjectBytes)
    return fail(Error(ErrorCode::LimitExceeded, structure, "length", offset)
                    .with_found(length)
                    .with_expected(limits::kMaxHeapObjectBytes));
  std::vector<std::byte> bytes(static_cast<std::size_t>(length));
  if (overlay.empty() || !overlay.apply(address, bytes)) {
    if (auto got = parts_->windows.read(number_, offset, bytes, among); !got)
      return fail(is_of_range(got.error()) ? got.error().of(structure, "bytes", offset)
                                           : got.error().within(structure, offset));
    if (!overlay.empty()) overlay.apply(address, bytes);
  }
  return MetadataBlock(std::move(bytes), offset, sizes());
}

}  // namespace h5mount::metadata

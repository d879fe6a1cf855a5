#include "h5mount/metadata/local_heap.h"

#include <algorithm>

#include "h5mount/base/limits.h"
#include "h5mount/base/structures.h"

namespace h5mount::metadata {

namespace {

constexpr std::string_view kSegment = structures::kLocalHeapDataSegment;
constexpr std::uint64_t kFirstGuess = 64;  // longer than most names

bool holds_nul(ByteSpan bytes) {
  return std::ranges::find(bytes, std::byte{0}) != bytes.end();
}

Result<std::string> decode_text(ByteSpan bytes, std::uint64_t file_offset) {
  format::Cursor cursor(bytes.first(std::min(bytes.size(), limits::kMaxLinkNameBytes + 1)), file_offset,
                        kSegment, {});
  const std::string_view text = cursor.c_string("text");
  if (!cursor.ok() && bytes.size() > limits::kMaxLinkNameBytes)
    return fail(Error(ErrorCode::LimitExceeded, kSegment, "text", file_offset)
                    .with_expected(limits::kMaxLinkNameBytes)
                    .with_detail("too long"));
  return cursor.finish(std::string(text));
}

}  // namespace

Result<LocalHeap> LocalHeap::open(FileMetadataPtr file, std::uint64_t address) {
  const format::FileSizes sizes = file->sizes();
  H5_ASSIGN(const MetadataBlock block,
            file->read(address, format::local_heap_header_bytes(sizes), structures::kLocalHeap));
  format::Cursor cursor = block.cursor(structures::kLocalHeap);
  H5_ASSIGN(const format::LocalHeapHeader header, format::decode_local_heap_header(cursor));
  file->covers(address, (block.bytes().size() + 7) / 8 * 8);  // the header is padded to a multiple of 8
  file->covers(header.segment_address, header.segment_size);
  return LocalHeap(std::move(file), header);
}

Result<std::string> LocalHeap::text(std::uint64_t offset) const {
  if (offset >= header_.segment_size)
    return fail(
        Error(ErrorCode::OutOfRange, kSegment, "offset", file_->base_address() + header_.segment_address)
            .with_found(offset)
            .with_expected(header_.segment_size));
  if (segment_)
    return decode_text(segment_->bytes().subspan(static_cast<std::size_t>(offset)),
                       segment_->file_offset() + offset);
  if (header_.segment_address > format::kUndefinedAddress - header_.segment_size)
    return fail(Error(ErrorCode::OutOfRange, structures::kLocalHeap, "segment_address",
                      header_.segment_address_offset)
                    .with_found(header_.segment_address));
  const std::uint64_t most =
      std::min<std::uint64_t>(header_.segment_size - offset, limits::kMaxLinkNameBytes + 1);
  for (std::uint64_t guess = kFirstGuess;; guess *= 16) {
    const std::uint64_t length = std::min(guess, most);
    H5_ASSIGN(const MetadataBlock block,
              file_->read_up_to(header_.segment_address + offset, length, kSegment));
    if (length == most || block.bytes().size() < length || holds_nul(block.bytes()))
      return decode_text(block.bytes(), block.file_offset());
  }
}

// The loop ends even if the list leads back to itself: blocks do not overlap, so together they fit in the
// segment.
std::vector<LocalHeap::FreeBlock> LocalHeap::free_blocks() const {
  std::vector<FreeBlock> out;
  if (!segment_) return out;
  std::uint64_t left = header_.segment_size;
  for (std::uint64_t at = header_.free_list_head; at < header_.segment_size;) {
    format::Cursor cursor(segment_->bytes().subspan(static_cast<std::size_t>(at)),
                          segment_->file_offset() + at, kSegment, file_->sizes());
    const auto block = format::decode_local_heap_free_block(cursor);
    if (!block || block->size > left) break;
    out.push_back({at, block->size});
    left -= block->size;
    at = block->next;
  }
  return out;
}

void LocalHeap::load() {
  if (segment_ || header_.segment_size > limits::kMaxNodeBytes) return;
  if (auto block = file_->read(header_.segment_address, header_.segment_size, kSegment))
    segment_ = std::make_shared<const MetadataBlock>(*std::move(block));
}

}  // namespace h5mount::metadata

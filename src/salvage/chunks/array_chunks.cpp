// Finds chunks in the blocks of fixed and extensible arrays. Each block names its array's header and has a
// checksum, so its contents are proven.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "chunks.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/row_major.h"
#include "h5mount/base/structures.h"
#include "h5mount/chunk/grid_order.h"
#include "h5mount/format/extensible_array.h"
#include "h5mount/format/fixed_array.h"

namespace h5mount::salvage {
namespace {

constexpr std::uint64_t kStepsPerBlock = 512;  // for a look at a block, whatever it is worth

class ArrayGatherer {
 public:
  ArrayGatherer(SalvageState& state, const OpenedDataset& dataset, chunk::GridOrder order)
      : state_(state),
        geometry_(dataset.geometry),
        layout_(dataset.description.layout),
        order_(std::move(order)),
        format_(record_format(state, dataset, 0)),
        expected_{{.client = geometry_.filtered ? format::ChunkClient::Filtered : format::ChunkClient::Plain,
                   .size_of_offsets = state.sizes().offsets,
                   .chunk_bytes = geometry_.chunk_bytes},
                  order_.end()} {}

  GatheredChunks run() {
    if (!format_) return std::move(out_);
    if (layout_.index == format::ChunkIndexKind::FixedArray)
      gather_fixed();
    else
      gather_extensible();
    list_absent();
    if (out_.found_by.empty() && (!out_.chunks.empty() || !out_.absent.empty()))
      out_.found_by = "blocks of its chunk index";
    return std::move(out_);
  }

 private:
  // The place of a data block's elements; `first` does not count the elements of the index block.
  struct Place {
    unsigned super_block = 0;
    std::uint64_t first = 0;
  };

  // Takes `count` elements, of which the first has the number `first`.
  void take(const std::byte* elements, std::uint64_t first, std::uint64_t count, bool proven = true) {
    if (first >= order_.end()) return;
    count = std::min(count, order_.end() - first);
    if (!state_.spend(count)) return;
    for (std::uint64_t i = 0; i < count; ++i) {
      const format::ChunkEntry entry = format_->entry(elements + i * format_->record_bytes());
      if (entry.address == format::kUndefinedAddress) {
        note_absent(first + i, 1);
        continue;
      }
      const auto number = in_grid(first + i);
      if (!number) continue;
      if (!proven && (!may_be_chunk(state_, geometry_, entry.address, entry.stored_size) ||
                      state_.used.touches(entry.address, entry.address + entry.stored_size)))
        continue;
      out_.chunks.push_back({*number, {entry.address, entry.stored_size, entry.filter_mask, {}}});
    }
  }

  // The row-major number in the grid of the chunk with that element; nullopt if the dataset has grown smaller
  // since, or is smaller than it may become.
  std::optional<std::uint64_t> in_grid(std::uint64_t element) {
    if (!order_.scaled(element, scaled_)) return std::nullopt;
    return row_major_number(scaled_, geometry_.grid);
  }

  void note_absent(std::uint64_t first, std::uint64_t count) {
    if (first >= order_.end()) return;
    const std::uint64_t end = first + std::min(count, order_.end() - first);
    if (!absent_.empty() && absent_.back().end == first)
      absent_.back().end = end;
    else
      absent_.push_back({first, end});
  }

  // Lists the chunks whose elements are absent. There may be far more such elements than the dataset has
  // chunks, so it is the chunks that are gone through.
  void list_absent() {
    UsedRanges absent;
    for (const Range& range : absent_) absent.add(range);
    absent.settle();
    const std::uint64_t chunks = absent_.empty() ? 0 : chunk_count(geometry_, state_.steps).value_or(0);
    if (!state_.spend(chunks)) return;
    std::ranges::fill(scaled_, 0);
    for (std::uint64_t number = 0; number < chunks; ++number) {
      if (absent.contains(order_.number(scaled_))) out_.absent.push_back(number);
      for (std::size_t d = scaled_.size(); d-- > 0 && ++scaled_[d] == geometry_.grid[d];) scaled_[d] = 0;
    }
  }

  void be_unproven() {
    out_.certainty = Certainty::Guessed;
    out_.found_by = "elements of its chunk index that no checksum confirms";
  }

  // Takes the elements of a block that its checksum does not confirm: nothing tells which of its bytes were
  // overwritten.
  void take_unproven(std::uint64_t address, std::uint64_t first, std::uint64_t count) {
    if (address >= state_.end || count > (state_.end - address) / format_->record_bytes()) return;
    const auto block = state_.file->read(address, count * format_->record_bytes(), "ArrayBlock");
    if (!block) return;
    be_unproven();
    take(block->bytes().data(), first, count, false);
  }

  // ---- fixed arrays

  Result<format::FixedArrayHeader> fixed_header(std::uint64_t data_block) const {
    format::Writer out(state_.sizes());
    out.text("FAHD").uint(0, 1).uint(static_cast<std::uint64_t>(expected_.record.client), 1);
    out.uint(format_->record_bytes(), 1).uint(layout_.fixed_array_page_bits, 1);
    // A fixed array has room for the chunks of the maximum extents.
    const std::uint64_t slowest = divide_up(geometry_.max_dims[0], geometry_.chunk_dims[0]);
    out.length(checked_mul(order_.stride(0), slowest).value_or(0)).address(data_block).checksum();
    const std::vector<std::byte> bytes = out.take();
    format::Cursor cursor(bytes, layout_.address, structures::kFixedArrayHeader, state_.sizes());
    return format::decode_fixed_array_header(cursor, expected_);
  }

  void gather_fixed() {
    for (const Found& found : state_.owned(Kind::FixedData, layout_.address)) {
      const auto header = fixed_header(found.offset);
      if (!header || !state_.spend(kStepsPerBlock)) return;
      if (take_fixed_block(*header)) return;
    }
    // If even the signature of the data block is gone, the block is at the address that the header states.
    const auto block = state_.file->read(layout_.address, format::fixed_array_header_bytes(state_.sizes()),
                                         structures::kFixedArrayHeader);
    if (!block) return;
    format::Cursor cursor = block->cursor(structures::kFixedArrayHeader);
    const auto header = format::decode_fixed_array_header(cursor, expected_);
    if (!header || header->data_block_address == format::kUndefinedAddress || take_fixed_block(*header))
      return;
    if (header->paged)
      take_pages(header->data_block_address + header->data_block_bytes, *header, nullptr);
    else
      take_unproven(header->data_block_address + header->body_at, 0, header->entry_count);
  }

  // Returns false if the block's checksum does not confirm it.
  bool take_fixed_block(const format::FixedArrayHeader& header) {
    const std::uint64_t at = header.data_block_address;
    if (header.bitmap_in_parts()) return false;
    const auto block = state_.file->read(at, header.data_block_bytes, structures::kFixedArrayDataBlock);
    if (!block) return false;
    format::Cursor cursor = block->cursor(structures::kFixedArrayDataBlock);
    if (!format::decode_fixed_array_data_block(cursor, header, layout_.address)) return false;
    if (header.paged)
      take_pages(at + header.data_block_bytes, header, block->bytes().data() + header.body_at);
    else
      take(block->bytes().data() + header.body_at, 0, header.entry_count);
    return true;
  }

  // `bitmap` tells which pages were written; it is null if that is not known, and then each page's checksum
  // decides.
  void take_pages(std::uint64_t at, const format::FixedArrayHeader& header, const std::byte* bitmap) {
    for (std::uint64_t page = 0; page < header.page_count; ++page) {
      const std::uint64_t first = page * header.page_entries;
      const std::uint64_t entries = std::min(header.page_entries, header.entry_count - first);
      if (first >= order_.end() || (bitmap == nullptr && at >= state_.end) || !state_.spend(1)) return;
      if (bitmap != nullptr && !format::page_bit(bitmap, page)) {
        note_absent(first, entries);
      } else if (const auto block = page_at(at, entries)) {
        take(block->bytes().data(), first, entries);
      }
      at += header.page_bytes(header.page_entries);
    }
  }

  // Returns nullopt at once for a page beyond the end of the file: a header can claim millions of them, and
  // each read would ask for the file's size.
  std::optional<metadata::MetadataBlock> page_at(std::uint64_t at, std::uint64_t entries) {
    if (at >= state_.end || !state_.spend(entries)) return std::nullopt;
    auto block = state_.file->read(at, entries * format_->record_bytes() + 4, "ArrayPage");
    if (!block) return std::nullopt;
    format::Cursor cursor = block->cursor("ArrayPage");
    if (!format::check_array_page(cursor, entries, format_->record_bytes())) return std::nullopt;
    return *std::move(block);
  }

  // ---- extensible arrays

  Result<format::ExtensibleArrayHeader> extensible_header() const {
    format::Writer out(state_.sizes());
    out.text("EAHD").uint(0, 1).uint(static_cast<std::uint64_t>(expected_.record.client), 1);
    out.uint(format_->record_bytes(), 1).uint(layout_.ea_max_bits, 1).uint(layout_.ea_index_elements, 1);
    out.uint(layout_.ea_min_elements, 1).uint(layout_.ea_min_pointers, 1).uint(layout_.ea_page_bits, 1);
    for (unsigned i = 0; i < 6; ++i) out.length(0);
    out.address(format::kUndefinedAddress).checksum();
    const std::vector<std::byte> bytes = out.take();
    format::Cursor cursor(bytes, layout_.address, structures::kExtensibleArrayHeader, state_.sizes());
    return format::decode_extensible_array_header(cursor, expected_);
  }

  void gather_extensible() {
    const auto header = extensible_header();
    if (!header) return;
    for (const Found& found : state_.owned(Kind::ExtensibleIndex, layout_.address))
      if (state_.spend(kStepsPerBlock)) take_index_block(found.offset, *header, true);
    if (!any_index_block_) take_named_index_block(*header);
    for (const Found& found : state_.owned(Kind::ExtensibleSuper, layout_.address))
      if (state_.spend(kStepsPerBlock)) take_super_block(found.offset, *header);
    for (const Found& found : state_.owned(Kind::ExtensibleData, layout_.address))
      if (state_.spend(kStepsPerBlock)) take_data_block(found.offset, *header);
    for (const auto& [address, place] : named_) {
      if (taken_.contains(address) || place.first + header->index_block_elements >= order_.end()) continue;
      if (!state_.spend(kStepsPerBlock)) return;
      if (header->pages_per_data_block(place.super_block) == 0)
        take_unproven(address + header->body_at, place.first + header->index_block_elements,
                      header->data_block_elements(place.super_block));
      else
        take_pages_of(address, place, *header);
    }
  }

  // Takes the damaged index block at the address that the header states.
  void take_named_index_block(const format::ExtensibleArrayHeader& made) {
    const auto block =
        state_.file->read(layout_.address, format::extensible_array_header_bytes(state_.sizes()),
                          structures::kExtensibleArrayHeader);
    if (!block) return;
    format::Cursor cursor = block->cursor(structures::kExtensibleArrayHeader);
    const auto header = format::decode_extensible_array_header(cursor, expected_);
    if (!header || header->index_block_address == format::kUndefinedAddress) return;
    be_unproven();
    take_unproven(header->index_block_address + made.index_elements_at, 0, made.index_block_elements);
    take_index_block(header->index_block_address, made, false);
  }

  void take_index_block(std::uint64_t address, const format::ExtensibleArrayHeader& header, bool proven) {
    const auto block =
        state_.file->read(address, header.index_block_bytes, structures::kExtensibleArrayIndexBlock);
    if (!block) return;
    if (proven) {
      format::Cursor cursor = block->cursor(structures::kExtensibleArrayIndexBlock);
      if (!format::decode_extensible_array_index_block(cursor, header, layout_.address)) return;
      any_index_block_ = true;
      take(block->bytes().data() + header.index_elements_at, 0, header.index_block_elements);
    }
    // Blocks that were never made hold chunks that were never written.
    const auto undefined = [&](std::size_t at, std::uint64_t i) {
      return address_in(*block, at, i) == format::kUndefinedAddress;
    };
    std::uint64_t block_number = 0;
    for (unsigned u = 0; u < header.super_blocks; ++u) {
      const std::uint64_t first = header.first_element_of(u) + header.index_block_elements;
      if (first >= order_.end()) return;
      const std::uint64_t each = header.data_block_elements(u);
      if (u >= header.direct_super_blocks) {
        if (undefined(header.index_super_blocks_at, u - header.direct_super_blocks))
          note_absent(first, header.data_blocks_of(u) * each);
        continue;
      }
      for (std::uint64_t b = 0; b < header.data_blocks_of(u); ++b, ++block_number) {
        if (undefined(header.index_data_blocks_at, block_number)) {
          note_absent(first + b * each, each);
          continue;
        }
        const std::uint64_t there = address_in(*block, header.index_data_blocks_at, block_number);
        named_.try_emplace(there, Place{u, header.first_element_of(u) + b * each});
        in_index_block_.insert(there);
      }
    }
  }

  std::uint64_t address_in(const metadata::MetadataBlock& block, std::size_t at, std::uint64_t i) const {
    return format_->address(block.bytes().data() + at + static_cast<std::size_t>(i) * state_.sizes().offsets);
  }

  void take_super_block(std::uint64_t address, const format::ExtensibleArrayHeader& header) {
    const auto prefix = state_.file->read(address, header.body_at, structures::kExtensibleArraySuperBlock);
    if (!prefix) return;
    const std::uint64_t first =
        load_le_width(prefix->bytes().data() + header.index_elements_at, header.offset_width);
    unsigned u = header.direct_super_blocks;
    while (u < header.super_blocks && header.first_element_of(u) < first) ++u;
    if (u >= header.super_blocks || header.first_element_of(u) != first) return;
    const auto block =
        state_.file->read(address, format::extensible_array_super_block_bytes(state_.sizes(), header, u),
                          structures::kExtensibleArraySuperBlock);
    if (!block) return;
    format::Cursor cursor = block->cursor(structures::kExtensibleArraySuperBlock);
    if (!format::decode_extensible_array_super_block(cursor, header, layout_.address, u)) return;
    const std::size_t at =
        header.body_at + static_cast<std::size_t>(format::extensible_array_page_bitmap_bytes(header, u));
    const std::uint64_t each = header.data_block_elements(u);
    for (std::uint64_t b = 0; b < header.data_blocks_of(u) && state_.spend(1); ++b) {
      const std::uint64_t data_block = address_in(*block, at, b);
      if (data_block == format::kUndefinedAddress) {
        note_absent(first + header.index_block_elements + b * each, each);
        continue;
      }
      named_.try_emplace(data_block, Place{u, first + b * each});
      in_super_block_.insert(data_block);
    }
  }

  // Finds the place of a data block's elements. libhdf5 counts the offset of a block that the index block
  // leads to by the block's number in the index block, so that some such offsets are also those of blocks of
  // a super block. The block that leads to the data block decides; if none does and both are possible, the
  // data block is not used.
  std::optional<Place> place_of(std::uint64_t address, std::uint64_t stored,
                                const format::ExtensibleArrayHeader& header) const {
    std::optional<Place> direct, in_super;
    std::uint64_t number = 0;
    for (unsigned u = 0; u < header.super_blocks; ++u) {
      const std::uint64_t first = header.first_element_of(u), each = header.data_block_elements(u);
      if (u >= header.direct_super_blocks) {
        if (stored < first) break;
        if ((stored - first) % each == 0 && (stored - first) / each < header.data_blocks_of(u))
          in_super = Place{u, stored};
        continue;
      }
      for (std::uint64_t b = 0; b < header.data_blocks_of(u); ++b, ++number)
        if (stored == first + number * each) direct = Place{u, first + b * each};
    }
    if (in_index_block_.contains(address)) return direct;
    if (in_super_block_.contains(address)) return in_super;
    if (direct && in_super) return std::nullopt;
    return direct ? direct : in_super;
  }

  void take_data_block(std::uint64_t address, const format::ExtensibleArrayHeader& header) {
    const auto prefix = state_.file->read(address, header.body_at, structures::kExtensibleArrayDataBlock);
    if (!prefix) return;
    const auto place = place_of(
        address, load_le_width(prefix->bytes().data() + header.index_elements_at, header.offset_width),
        header);
    if (!place || place->first >= order_.end()) return;
    const unsigned u = place->super_block;
    const std::uint64_t elements = header.data_block_elements(u);
    const bool paged = header.pages_per_data_block(u) != 0;
    const std::uint64_t bytes = format::extensible_array_data_block_bytes(header, elements, paged);
    const auto block = state_.file->read(address, bytes, structures::kExtensibleArrayDataBlock);
    if (!block) return;
    format::Cursor cursor = block->cursor(structures::kExtensibleArrayDataBlock);
    if (!format::decode_extensible_array_data_block(cursor, header, layout_.address, elements, paged)) return;
    taken_.insert(address);
    if (paged) return take_pages_of(address, *place, header);
    take(block->bytes().data() + header.body_at, place->first + header.index_block_elements, elements);
  }

  // Each page has its own checksum.
  void take_pages_of(std::uint64_t address, const Place& place, const format::ExtensibleArrayHeader& header) {
    const std::uint64_t elements = header.data_block_elements(place.super_block);
    const std::uint64_t page_elements = std::uint64_t{1} << header.page_bits;
    std::uint64_t at = address + format::extensible_array_data_block_bytes(header, elements, true);
    std::uint64_t number = place.first + header.index_block_elements;
    for (std::uint64_t page = 0; page < header.pages_per_data_block(place.super_block); ++page) {
      if (at >= state_.end || number >= order_.end()) return;
      if (const auto elements_of_page = page_at(at, page_elements))
        take(elements_of_page->bytes().data(), number, page_elements);
      at += header.page_bytes();
      number += page_elements;
    }
  }

  SalvageState& state_;
  const chunk::ChunkGeometry& geometry_;
  const format::DataLayout& layout_;
  const chunk::GridOrder order_;
  const std::optional<format::ChunkRecordFormat> format_;
  const format::ArrayOfChunks expected_;
  // Addresses of data blocks: those that an index block or a super block leads to, those that were sound, and
  // where the elements of each begin.
  std::unordered_set<std::uint64_t> in_index_block_, in_super_block_, taken_;
  std::map<std::uint64_t, Place> named_;
  bool any_index_block_ = false;
  std::vector<Range> absent_;  // numbers of elements
  std::vector<std::uint64_t> scaled_ = std::vector<std::uint64_t>(order_.rank());
  GatheredChunks out_;
};

}  // namespace

GatheredChunks gather_array_chunks(SalvageState& state, const OpenedDataset& dataset) {
  const bool unlimited = dataset.description.layout.index == format::ChunkIndexKind::ExtensibleArray;
  auto order = chunk::GridOrder::make(dataset.geometry, unlimited);
  if (!order) return {};
  return ArrayGatherer(state, dataset, *std::move(order)).run();
}

}  // namespace h5mount::salvage

// Extensible array: header -> index block -> (super blocks ->) data blocks -> (pages). See
// format/extensible_array.h.
#include <bit>

#include "array_index.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/extensible_array.h"
#include "h5mount/format/fixed_array.h"
#include "index_kinds.h"

namespace h5mount::chunk {

namespace {

constexpr std::string_view kHeader = structures::kExtensibleArrayHeader;
constexpr std::string_view kIndexBlock = structures::kExtensibleArrayIndexBlock;
constexpr std::string_view kSuperBlock = structures::kExtensibleArraySuperBlock;
constexpr std::string_view kDataBlock = structures::kExtensibleArrayDataBlock;
constexpr std::string_view kPage = structures::kExtensibleArrayDataBlockPage;

using BlockPtr = std::shared_ptr<const metadata::MetadataBlock>;

// The position of an element that is not in the index block.
struct Place {
  unsigned super_block = 0;
  std::uint64_t super_block_first = 0;  // element number of the super block's first element
  std::uint64_t data_block = 0;         // within its super block
  std::uint64_t data_block_first = 0;   // element number of the data block's first element
  std::uint64_t data_block_elements = 0;
};

class ExtensibleArrayIndex final : public ArrayIndex {
 public:
  ExtensibleArrayIndex(metadata::FileMetadataPtr file, const ChunkGeometry& geometry, GridOrder order,
                       const format::ExtensibleArrayHeader& header, std::uint64_t header_address)
      : ArrayIndex(std::move(file), geometry, std::move(order), header.format),
        header_(header),
        header_address_(header_address) {}

 private:
  Result<ElementRun> load_run(std::uint64_t number, ElementRun& span, Asking* asking) const override;
  Result<ElementRun> load_data_block(const Place& place, std::uint64_t address, ElementRun& span,
                                     Asking* asking) const;
  Result<ElementRun> load_from_super_block(const Place& place, std::uint64_t number, std::uint64_t address,
                                           ElementRun& span, Asking* asking) const;
  Result<ElementRun> load_paged(const Place& place, std::uint64_t number, std::uint64_t address,
                                const std::byte* page_bitmap, ElementRun& span, Asking* asking) const;
  Place locate(std::uint64_t number) const;
  std::uint64_t address_in(const BlockPtr& block, std::size_t at, std::uint64_t i) const {
    return format().address(block->bytes().data() + at +
                            static_cast<std::size_t>(i) * file().sizes().offsets);
  }

  format::ExtensibleArrayHeader header_;
  std::uint64_t header_address_;
};

// The header's decoder has checked that the super blocks cover every number of the grid.
Place ExtensibleArrayIndex::locate(std::uint64_t number) const {
  const std::uint64_t element = number - header_.index_block_elements;
  const auto bits = std::bit_width(element / header_.min_data_block_elements + 1);
  Place place;
  place.super_block = static_cast<unsigned>(bits) - 1;
  const std::uint64_t first = header_.first_element_of(place.super_block);
  place.data_block_elements = header_.data_block_elements(place.super_block);
  place.data_block = (element - first) / place.data_block_elements;
  place.super_block_first = first + header_.index_block_elements;
  place.data_block_first = place.super_block_first + place.data_block * place.data_block_elements;
  return place;
}

Result<ElementRun> ExtensibleArrayIndex::load_run(std::uint64_t number, ElementRun& span,
                                                  Asking* asking) const {
  span = {.first = 0, .count = order().end(), .block = nullptr, .elements_at = 0};
  if (header_.index_block_address == format::kUndefinedAddress) return span;
  const auto check = [&](format::Cursor& cursor) {
    return format::decode_extensible_array_index_block(cursor, header_, header_address_);
  };
  H5_ASSIGN(BlockPtr block, load_block(header_.index_block_address, header_.index_block_bytes, kIndexBlock,
                                       asking, Asking::Names::Others, check));
  if (number < header_.index_block_elements)
    return ElementRun{.first = 0,
                      .count = header_.index_block_elements,
                      .block = std::move(block),
                      .elements_at = header_.index_elements_at};
  const Place place = locate(number);
  if (place.super_block < header_.direct_super_blocks) {
    const std::uint64_t i = header_.first_data_block_of(place.super_block) + place.data_block;
    return load_data_block(place, address_in(block, header_.index_data_blocks_at, i), span, asking);
  }
  const std::uint64_t i = place.super_block - header_.direct_super_blocks;
  return load_from_super_block(place, number, address_in(block, header_.index_super_blocks_at, i), span,
                               asking);
}

Result<ElementRun> ExtensibleArrayIndex::load_data_block(const Place& place, std::uint64_t address,
                                                         ElementRun& span, Asking* asking) const {
  span = {.first = place.data_block_first,
          .count = place.data_block_elements,
          .block = nullptr,
          .elements_at = 0};
  if (address == format::kUndefinedAddress) return span;
  const std::uint64_t elements = place.data_block_elements;
  const auto check = [&](format::Cursor& cursor) {
    return format::decode_extensible_array_data_block(cursor, header_, header_address_, elements, false);
  };
  ElementRun run = span;
  run.elements_at = header_.body_at;
  H5_ASSIGN(run.block,
            load_block(address, format::extensible_array_data_block_bytes(header_, elements, false),
                       kDataBlock, asking, Asking::Names::Nothing, check));
  return run;
}

Result<ElementRun> ExtensibleArrayIndex::load_from_super_block(const Place& place, std::uint64_t number,
                                                               std::uint64_t address, ElementRun& span,
                                                               Asking* asking) const {
  const unsigned u = place.super_block;
  // data_blocks * data_block_elements = 2^u * min_data_block_elements may be 2^64 for the last super block:
  // clamped to the end.
  const auto all = checked_mul(header_.data_blocks_of(u), place.data_block_elements);
  span = {.first = place.super_block_first,
          .count = all.value_or(format::kUnlimited - place.super_block_first),
          .block = nullptr,
          .elements_at = 0};
  if (address == format::kUndefinedAddress) return span;
  const auto check = [&](format::Cursor& cursor) {
    return format::decode_extensible_array_super_block(cursor, header_, header_address_, u);
  };
  const std::uint64_t bytes = format::extensible_array_super_block_bytes(file().sizes(), header_, u);
  H5_ASSIGN(BlockPtr block, load_block(address, bytes, kSuperBlock, asking, Asking::Names::Others, check));
  const std::uint64_t pages = header_.pages_per_data_block(u);
  const std::size_t addresses_at =
      header_.body_at + static_cast<std::size_t>(format::extensible_array_page_bitmap_bytes(header_, u));
  const std::uint64_t data_block = address_in(block, addresses_at, place.data_block);
  if (pages == 0) return load_data_block(place, data_block, span, asking);
  return load_paged(place, number, data_block, block->bytes().data() + header_.body_at, span, asking);
}

Result<ElementRun> ExtensibleArrayIndex::load_paged(const Place& place, std::uint64_t number,
                                                    std::uint64_t address, const std::byte* page_bitmap,
                                                    ElementRun& span, Asking* asking) const {
  span = {.first = place.data_block_first,
          .count = place.data_block_elements,
          .block = nullptr,
          .elements_at = 0};
  if (address == format::kUndefinedAddress) return span;
  const std::uint64_t pages = header_.pages_per_data_block(place.super_block);
  const std::uint64_t page = (number - place.data_block_first) >> header_.page_bits;
  const auto written = [&](std::uint64_t p) {
    return format::page_bit(page_bitmap, place.data_block * pages + p);
  };
  std::uint64_t end = page + 1;
  if (!written(page))
    while (end < pages && !written(end)) ++end;
  span.first = place.data_block_first + (page << header_.page_bits);
  span.count = (end - page) << header_.page_bits;
  if (!written(page)) return span;

  const std::uint64_t elements = place.data_block_elements;
  const std::uint64_t prefix = format::extensible_array_data_block_bytes(header_, elements, true);
  const auto into = checked_mul(page, header_.page_bytes());
  const auto prefix_end = checked_add(address, prefix);
  const auto at = into && prefix_end ? checked_add(*prefix_end, *into) : std::nullopt;
  if (!at)
    return fail(
        Error(ErrorCode::OutOfRange, kPage, "address", format::kUndefinedAddress).with_found(address));
  const auto check = [&](format::Cursor& cursor) {
    return format::decode_extensible_array_data_block(cursor, header_, header_address_, elements, true);
  };
  if (const auto bytes = checked_mul(pages, header_.page_bytes()))
    file().covers(address, checked_add(prefix, *bytes).value_or(prefix));
  ElementRun run = span;
  const auto head = load_block(address, prefix, kDataBlock, asking, Asking::Names::Nothing, check);
  if (asking == nullptr) H5_TRY(head);  // otherwise both are asked for
  H5_ASSIGN(run.block, load_page(*at, run.count, kPage, asking));
  return run;
}

}  // namespace

Result<IndexPtr> open_extensible_array_index(metadata::FileMetadataPtr file, const format::DataLayout& layout,
                                             const ChunkGeometry& geometry) {
  H5_ASSIGN(GridOrder order, GridOrder::make(geometry, true));
  H5_ASSIGN(const metadata::MetadataBlock block,
            file->read(layout.address, format::extensible_array_header_bytes(file->sizes()), kHeader));
  format::Cursor cursor = block.cursor(kHeader);
  H5_ASSIGN(const format::ExtensibleArrayHeader header,
            format::decode_extensible_array_header(cursor, array_of_chunks(*file, layout, geometry, order)));
  return std::make_unique<ExtensibleArrayIndex>(std::move(file), geometry, std::move(order), header,
                                                layout.address);
}

}  // namespace h5mount::chunk

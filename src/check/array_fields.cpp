// Fixed and extensible arrays of chunks.
#include <algorithm>

#include "fields.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/extensible_array.h"
#include "h5mount/format/fixed_array.h"

namespace h5mount::check {

namespace {

constexpr std::string_view kFixedHeader = structures::kFixedArrayHeader,
                           kFixedBlock = structures::kFixedArrayDataBlock;
constexpr std::string_view kFixedBlockPage = structures::kFixedArrayDataBlockPage;
constexpr std::string_view kExtensibleHeader = structures::kExtensibleArrayHeader;
constexpr std::string_view kExtensibleIndex = structures::kExtensibleArrayIndexBlock;
constexpr std::string_view kExtensibleSuper = structures::kExtensibleArraySuperBlock;
constexpr std::string_view kExtensibleBlock = structures::kExtensibleArrayDataBlock;
constexpr std::string_view kExtensiblePage = structures::kExtensibleArrayDataBlockPage;

format::ArrayOfChunks expected_of(const Context& context, const ChunkForm& form) {
  return {.record = {.client = form.filters > 0 ? format::ChunkClient::Filtered : format::ChunkClient::Plain,
                     .size_of_offsets = context.metadata->sizes().offsets,
                     .chunk_bytes = form.chunk_bytes},
          .elements = 0};
}

void check_array_prefix(Fields& block, std::uint64_t header) {
  block.signature();
  block.u8("version");
  block.u8("client_id");
  block.address("header_address");
  block.want_equal(header, "is a block of another array");
}

// The elements of an array: the chunks.
void check_elements_of(Fields& block, const ChunkForm& form, std::uint64_t count, std::size_t bytes) {
  const std::size_t offsets = block.sizes().offsets;
  for (std::uint64_t i = 0; i < count && block.ok(); ++i) {
    block.address("chunk_address");
    const format::Field address = block.last();
    std::uint64_t size = form.chunk_bytes;
    if (form.filters > 0 && bytes > offsets + 4) {
      size = block.uint(bytes - offsets - 4, "chunk_size");
      if (address.value != format::kUndefinedAddress) block.want(size > 0, "is zero");
      block.u32("filter_mask");
      block.want(form.filters >= 32 || block.last().value >> form.filters == 0,
                 "is of filters that there are not");
    }
    block.want_stored(address, size, "the chunk reaches behind the end of the file");
  }
}

// ---- fixed arrays

void check_fixed_blocks(const Context& context, PlaceId place, const ChunkForm& form,
                        const format::FixedArrayHeader& header, std::uint64_t address) {
  const auto block = take_structure(context, header.data_block_address, header.data_block_bytes, kFixedBlock);
  if (!block) return;
  Fields fields(context, place, block->cursor(kFixedBlock));
  check_array_prefix(fields, address);
  if (!header.paged) {
    check_elements_of(fields, form, header.entry_count, header.entry_size);
    return fields.checksum();
  }
  const ByteSpan bitmap = fields.bytes(header.page_bitmap_bytes, "page_bitmap");
  fields.checksum();
  for (std::uint64_t page = 0; page < header.page_count && context.tally.go_on(); ++page) {
    if (bitmap.empty() || !format::page_bit(bitmap.data(), page)) continue;
    const std::uint64_t before = page * header.page_entries;
    const std::uint64_t entries = std::min(header.page_entries, header.entry_count - before);
    const std::uint64_t at =
        header.data_block_address + header.data_block_bytes + page * header.page_bytes(header.page_entries);
    const auto read = take_structure(context, at, header.page_bytes(entries), kFixedBlockPage);
    if (!read) continue;
    Fields one(context, place, read->cursor(kFixedBlockPage));
    check_elements_of(one, form, entries, header.entry_size);
    one.checksum();
  }
}

// ---- extensible arrays

class ExtensibleFields {
 public:
  ExtensibleFields(const Context& context, PlaceId place, const ChunkForm& form,
                   const format::ExtensibleArrayHeader& header, std::uint64_t address)
      : context_(context), place_(place), form_(form), header_(header), address_(address) {}

  void check_index() {
    const auto read =
        take_structure(context_, header_.index_block_address, header_.index_block_bytes, kExtensibleIndex);
    whole_ = whole_ && read;
    if (!read) return;
    Fields block(context_, place_, read->cursor(kExtensibleIndex));
    check_array_prefix(block, address_);
    check_elements_of(block, form_, header_.index_block_elements, header_.element_size);
    elements = highest = header_.index_block_elements;
    for (unsigned u = 0; u < header_.direct_super_blocks; ++u)
      check_data_blocks(block, u, {}, header_.first_data_block_of(u));
    for (unsigned u = header_.direct_super_blocks; u < header_.super_blocks && block.ok(); ++u) {
      const std::uint64_t super = block.address("super_block_address");
      block.want_stored(1, kBehindEnd);
      if (super != format::kUndefinedAddress) check_super_block(super, u);
    }
    block.checksum();
  }

  bool whole() const { return whole_; }
  std::uint64_t super_blocks = 0, super_block_bytes = 0, data_blocks = 0, data_block_bytes = 0, elements = 0;
  std::uint64_t highest = 0;  // behind the last element that a block has

 private:
  void check_super_block(std::uint64_t address, unsigned u) {
    const std::uint64_t bytes =
        format::extensible_array_super_block_bytes(context_.metadata->sizes(), header_, u);
    const auto read = bytes == format::kUnlimited
                          ? std::nullopt
                          : take_structure(context_, address, bytes, kExtensibleSuper);
    whole_ = whole_ && read;
    if (!read) return;
    ++super_blocks;
    super_block_bytes += bytes;
    Fields block(context_, place_, read->cursor(kExtensibleSuper));
    check_array_prefix(block, address_);
    block.uint(header_.offset_width, "block_offset");
    block.want_equal(header_.first_element_of(u), "is not the place of the block in the array");
    const std::uint64_t bitmap = format::extensible_array_page_bitmap_bytes(header_, u);
    const ByteSpan pages = bitmap > 0 ? block.bytes(bitmap, "page_bitmap") : ByteSpan();
    check_data_blocks(block, u, pages, 0);
    block.checksum();
  }

  // For blocks of the index block libhdf5 counts those of all super blocks before once more.
  void check_data_blocks(Fields& block, unsigned u, ByteSpan pages, std::uint64_t before) {
    const std::uint64_t each = header_.data_block_elements(u);
    for (std::uint64_t i = 0; i < header_.data_blocks_of(u) && block.ok(); ++i) {
      const std::uint64_t address = block.address("data_block_address");
      block.want_stored(1, kBehindEnd);
      if (address != format::kUndefinedAddress)
        check_data_block(address, {u, i, header_.first_element_of(u) + i * each, before * each}, pages);
    }
  }

  struct DataBlock {
    unsigned super_block;
    std::uint64_t number;  // in the super block
    std::uint64_t offset;  // in the array
    std::uint64_t more;    // of the offset that libhdf5 writes
  };

  void check_data_block(std::uint64_t address, const DataBlock& place, ByteSpan pages) {
    const unsigned u = place.super_block;
    const std::uint64_t count = header_.data_block_elements(u), paged = header_.pages_per_data_block(u);
    highest = std::max(
        highest, header_.index_block_elements + header_.first_element_of(u) + (place.number + 1) * count);
    const std::uint64_t bytes = format::extensible_array_data_block_bytes(header_, count, paged > 0);
    const auto read = bytes == format::kUnlimited
                          ? std::nullopt
                          : take_structure(context_, address, bytes, kExtensibleBlock);
    whole_ = whole_ && read;
    if (!read) return;
    ++data_blocks;
    data_block_bytes += bytes + paged * header_.page_bytes();
    elements += count;
    Fields block(context_, place_, read->cursor(kExtensibleBlock));
    check_array_prefix(block, address_);
    block.uint(header_.offset_width, "block_offset");
    if (block.last().value != place.offset + place.more)
      block.want_equal(place.offset, "is not the place of the block in the array");
    if (paged == 0) check_elements_of(block, form_, count, header_.element_size);
    block.checksum();
    for (std::uint64_t page = 0; page < paged && context_.tally.go_on(); ++page) {
      const std::uint64_t bit = place.number * paged + page;
      if (bit / 8 >= pages.size() || !format::page_bit(pages.data(), bit)) continue;
      const auto one = take_structure(context_, address + bytes + page * header_.page_bytes(),
                                      header_.page_bytes(), kExtensiblePage);
      if (!one) continue;
      Fields fields(context_, place_, one->cursor(kExtensiblePage));
      check_elements_of(fields, form_, std::uint64_t{1} << header_.page_bits, header_.element_size);
      fields.checksum();
    }
  }

  const Context& context_;
  const PlaceId place_;
  const ChunkForm& form_;
  const format::ExtensibleArrayHeader& header_;
  const std::uint64_t address_;
  bool whole_ = true;
};

}  // namespace

void check_fixed_array_fields(const Context& context, PlaceId place, const ChunkForm& form,
                              const format::DataLayout& layout) {
  const std::uint64_t bytes = format::fixed_array_header_bytes(context.metadata->sizes());
  const auto block =
      form.structured ? std::nullopt : take_structure(context, layout.address, bytes, kFixedHeader);
  if (!block) return;
  format::Cursor cursor = block->cursor(kFixedHeader);
  const auto header = format::decode_fixed_array_header(cursor, expected_of(context, form));
  if (!header) return;
  Fields fields(context, place, block->cursor(kFixedHeader));
  fields.signature();
  fields.u8("version");
  fields.u8("client_id");
  fields.u8("entry_size");
  fields.u8("page_bits");
  fields.want_equal(layout.fixed_array_page_bits, "is not what the layout message says");
  fields.length("entry_count");
  if (form.most_chunks) fields.want_equal(*form.most_chunks, "is not the number of chunks in the dataset");
  fields.address("data_block_address");
  fields.want_stored(1, kBehindEnd);
  fields.checksum();
  if (header->data_block_address != format::kUndefinedAddress)
    check_fixed_blocks(context, place, form, *header, layout.address);
}

void check_extensible_array_fields(const Context& context, PlaceId place, const ChunkForm& form,
                                   const format::DataLayout& layout) {
  const std::uint64_t bytes = format::extensible_array_header_bytes(context.metadata->sizes());
  const auto block =
      form.structured ? std::nullopt : take_structure(context, layout.address, bytes, kExtensibleHeader);
  if (!block) return;
  format::Cursor cursor = block->cursor(kExtensibleHeader);
  const auto header = format::decode_extensible_array_header(cursor, expected_of(context, form));
  if (!header) return;
  Fields fields(context, place, block->cursor(kExtensibleHeader));
  fields.signature();
  fields.u8("version");
  fields.u8("client_id");
  fields.u8("element_size");
  constexpr std::string_view kAsLayout = "is not what the layout message says";
  fields.u8("max_element_bits");
  fields.want_equal(layout.ea_max_bits, kAsLayout);
  fields.u8("index_block_elements");
  fields.want_equal(layout.ea_index_elements, kAsLayout);
  fields.u8("min_data_block_elements");
  fields.want_equal(layout.ea_min_elements, kAsLayout);
  fields.u8("min_super_block_pointers");
  fields.want_equal(layout.ea_min_pointers, kAsLayout);
  fields.u8("page_bits");
  fields.want_equal(layout.ea_page_bits, kAsLayout);
  std::vector<format::Field> stated;
  for (const char* name : {"super_blocks", "super_block_bytes", "data_blocks", "data_block_bytes",
                           "max_index_set", "realized_elements"}) {
    fields.plain_length(name);
    stated.push_back(fields.last());
  }
  fields.address("index_block_address");
  fields.want_stored(1, kBehindEnd);
  fields.checksum();
  if (!fields.ok() || header->index_block_address == format::kUndefinedAddress) return;
  ExtensibleFields array(context, place, form, *header, layout.address);
  array.check_index();
  if (!array.whole()) return;
  constexpr std::string_view kAsBlocks = "is not that of the blocks that the array has";
  fields.want_equal(array.super_blocks, stated[0], kAsBlocks);
  fields.want_equal(array.super_block_bytes, stated[1], kAsBlocks);
  fields.want_equal(array.data_blocks, stated[2], kAsBlocks);
  fields.want_equal(array.data_block_bytes, stated[3], kAsBlocks);
  fields.want(stated[4].value <= array.highest, stated[4], "is behind the last element of the blocks");
  fields.want_equal(array.elements, stated[5], kAsBlocks);
}

}  // namespace h5mount::check

// Fixed and extensible arrays of chunks.
#include <algorithm>

#include "fields.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/extensible_array.h"
#include "h5mount/format/fixed_array.h"

namespace h5mount::check {

namespace {

constexpr std::string_view kAsLayout = "is not what the layout message says";

format::ArrayOfChunks expected_of(const Fields& header, const ChunkForm& form) {
  return {.record = {.client = form.filters > 0 ? format::ChunkClient::Filtered : format::ChunkClient::Plain,
                     .size_of_offsets = header.sizes().offsets,
                     .chunk_bytes = form.chunk_bytes},
          .elements = 0};
}

// The parts that the blocks of both kinds of arrays share.
class ArrayFields {
 public:
  ArrayFields(const Subject& subject, const ChunkForm& form, std::uint64_t header, std::size_t element_bytes)
      : subject_(subject), form_(form), header_(header), element_bytes_(element_bytes) {}

  // A block, behind the fields that each begins with.
  std::optional<Fields> block(std::uint64_t address, std::uint64_t bytes, std::string_view structure) const {
    auto block = subject_.take(address, bytes, structure);
    if (!block) return block;
    block->begin({"version", "client_id"});
    block->address("header_address").want_equal(header_, "is a block of another array");
    return block;
  }
  void check_elements(Fields& block, std::uint64_t count) const {
    for (std::uint64_t i = 0; i < count && block.ok(); ++i) form_.check(block, element_bytes_);
  }
  void check_page(std::uint64_t address, std::uint64_t bytes, std::uint64_t elements,
                  std::string_view structure) const {
    auto page = subject_.take(address, bytes, structure);
    if (!page) return;
    check_elements(*page, elements);
    page->checksum();
  }
  const Subject& subject() const { return subject_; }

 private:
  const Subject& subject_;
  const ChunkForm& form_;
  const std::uint64_t header_;
  const std::size_t element_bytes_;
};

void check_fixed_blocks(const ArrayFields& array, const format::FixedArrayHeader& header) {
  auto block =
      array.block(header.data_block_address, header.data_block_bytes, structures::kFixedArrayDataBlock);
  if (!block) return;
  if (!header.paged) array.check_elements(*block, header.entry_count);
  const ByteSpan bitmap = block->bytes(header.page_bitmap_bytes, "page_bitmap");
  block->checksum();
  std::uint64_t at = header.data_block_address + header.data_block_bytes;
  for (std::uint64_t page = 0; page < header.page_count && array.subject().go_on();
       ++page, at += header.page_bytes(header.page_entries)) {
    if (bitmap.empty() || !format::page_bit(bitmap.data(), page)) continue;
    const std::uint64_t entries =
        std::min(header.page_entries, header.entry_count - page * header.page_entries);
    array.check_page(at, header.page_bytes(entries), entries, structures::kFixedArrayDataBlockPage);
  }
}

class ExtensibleFields {
 public:
  ExtensibleFields(const ArrayFields& array, const format::ExtensibleArrayHeader& header)
      : array_(array), header_(header) {}

  void check_index() {
    auto block = stored_block(header_.index_block_address, header_.index_block_bytes,
                              structures::kExtensibleArrayIndexBlock);
    if (!block) return;
    array_.check_elements(*block, header_.index_block_elements);
    elements = highest = header_.index_block_elements;
    for (unsigned u = 0; u < header_.direct_super_blocks; ++u)
      check_data_blocks(*block, u, {}, header_.first_data_block_of(u));
    for (unsigned u = header_.direct_super_blocks; u < header_.super_blocks && block->ok(); ++u) {
      const Field super = block->address("super_block_address");
      super.want_stored();
      if (super != format::kUndefinedAddress) check_super_block(super, u);
    }
    block->checksum();
  }

  bool whole = true;  // whether all blocks could be read
  std::uint64_t super_blocks = 0, super_block_bytes = 0, data_blocks = 0, data_block_bytes = 0, elements = 0;
  std::uint64_t highest = 0;  // behind the last element that a block has

 private:
  std::optional<Fields> stored_block(std::uint64_t address, std::uint64_t bytes, std::string_view structure) {
    auto block = array_.block(address, bytes, structure);
    whole = whole && block;
    return block;
  }

  void check_super_block(std::uint64_t address, unsigned u) {
    const std::uint64_t bytes =
        format::extensible_array_super_block_bytes(array_.subject().file().sizes(), header_, u);
    auto block = stored_block(address, bytes, structures::kExtensibleArraySuperBlock);
    if (!block) return;
    ++super_blocks;
    super_block_bytes += bytes;
    block->uint(header_.offset_width, "block_offset")
        .want_equal(header_.first_element_of(u), "is not the place of the block in the array");
    const ByteSpan pages =
        block->bytes(format::extensible_array_page_bitmap_bytes(header_, u), "page_bitmap");
    check_data_blocks(*block, u, pages, 0);
    block->checksum();
  }

  // For blocks of the index block libhdf5 counts those of all super blocks before once more.
  void check_data_blocks(Fields& block, unsigned u, ByteSpan pages, std::uint64_t before) {
    for (std::uint64_t i = 0; i < header_.data_blocks_of(u) && block.ok(); ++i) {
      const Field address = block.address("data_block_address");
      address.want_stored();
      if (address != format::kUndefinedAddress) check_data_block(address, u, i, before, pages);
    }
  }

  // Block `number` of a super block.
  void check_data_block(std::uint64_t address, unsigned u, std::uint64_t number, std::uint64_t before,
                        ByteSpan pages) {
    const std::uint64_t count = header_.data_block_elements(u), paged = header_.pages_per_data_block(u);
    const std::uint64_t first = header_.first_element_of(u) + number * count;
    highest = std::max(highest, header_.index_block_elements + first + count);
    const std::uint64_t bytes = format::extensible_array_data_block_bytes(header_, count, paged > 0);
    auto block = stored_block(address, bytes, structures::kExtensibleArrayDataBlock);
    if (!block) return;
    ++data_blocks;
    data_block_bytes += bytes + paged * header_.page_bytes();
    elements += count;
    const Field offset = block->uint(header_.offset_width, "block_offset");
    if (offset != first + before * count)
      offset.want_equal(first, "is not the place of the block in the array");
    if (paged == 0) array_.check_elements(*block, count);
    block->checksum();
    for (std::uint64_t page = 0; page < paged && array_.subject().go_on(); ++page) {
      const std::uint64_t bit = number * paged + page;
      if (bit / 8 < pages.size() && format::page_bit(pages.data(), bit))
        array_.check_page(address + bytes + page * header_.page_bytes(), header_.page_bytes(),
                          std::uint64_t{1} << header_.page_bits, structures::kExtensibleArrayDataBlockPage);
    }
  }

  const ArrayFields& array_;
  const format::ExtensibleArrayHeader& header_;
};

}  // namespace

void check_fixed_array_fields(const Subject& subject, const ChunkForm& form,
                              const format::DataLayout& layout) {
  auto fields = subject.take(layout.address, format::fixed_array_header_bytes(subject.file().sizes()),
                             structures::kFixedArrayHeader);
  if (!fields) return;
  const auto header = fields->decoded(format::decode_fixed_array_header, expected_of(*fields, form));
  if (!header) return;
  fields->begin({"version", "client_id", "entry_size"});
  fields->u8("page_bits").want_equal(layout.fixed_array_page_bits, kAsLayout);
  const Field count = fields->length("entry_count");
  if (form.most_chunks) count.want_equal(*form.most_chunks, "is not the number of chunks in the dataset");
  fields->address("data_block_address").want_stored();
  fields->checksum();
  check_fixed_blocks({subject, form, layout.address, header->entry_size}, *header);
}

void check_extensible_array_fields(const Subject& subject, const ChunkForm& form,
                                   const format::DataLayout& layout) {
  auto fields = subject.take(layout.address, format::extensible_array_header_bytes(subject.file().sizes()),
                             structures::kExtensibleArrayHeader);
  if (!fields) return;
  const auto header = fields->decoded(format::decode_extensible_array_header, expected_of(*fields, form));
  if (!header) return;
  fields->begin({"version", "client_id", "element_size"});
  for (const auto& [name, stated] : {std::pair("max_element_bits", layout.ea_max_bits),
                                     {"index_block_elements", layout.ea_index_elements},
                                     {"min_data_block_elements", layout.ea_min_elements},
                                     {"min_super_block_pointers", layout.ea_min_pointers},
                                     {"page_bits", layout.ea_page_bits}})
    fields->u8(name).want_equal(stated, kAsLayout);
  const Field super_blocks = fields->plain_length("super_blocks");
  const Field super_block_bytes = fields->plain_length("super_block_bytes");
  const Field data_blocks = fields->plain_length("data_blocks");
  const Field data_block_bytes = fields->plain_length("data_block_bytes");
  const Field highest = fields->plain_length("max_index_set");
  const Field elements = fields->plain_length("realized_elements");
  fields->address("index_block_address").want_stored();
  fields->checksum();
  if (header->index_block_address == format::kUndefinedAddress) return;
  const ArrayFields blocks(subject, form, layout.address, header->element_size);
  ExtensibleFields array(blocks, *header);
  array.check_index();
  if (!array.whole) return;
  constexpr std::string_view kAsBlocks = "is not that of the blocks that the array has";
  super_blocks.want_equal(array.super_blocks, kAsBlocks);
  super_block_bytes.want_equal(array.super_block_bytes, kAsBlocks);
  data_blocks.want_equal(array.data_blocks, kAsBlocks);
  data_block_bytes.want_equal(array.data_block_bytes, kAsBlocks);
  highest.want(highest <= array.highest, "is behind the last element of the blocks");
  elements.want_equal(array.elements, kAsBlocks);
}

}  // namespace h5mount::check

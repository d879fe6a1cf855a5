#include <algorithm>
#include <functional>
#include <memory>
#include <span>

#include "h5mount/base/checked.h"
#include "h5mount/base/long_work.h"
#include "h5mount/format/chunk_btree1.h"
#include "h5mount/format/extensible_array.h"
#include "h5mount/format/fixed_array.h"
#include "h5mount/metadata/filter_pipeline.h"
#include "prefetch_parts.h"

namespace h5mount::metadata {
namespace {

constexpr std::uint64_t kMaxChunks = 1024;                  // of a dataset
constexpr std::uint64_t kMaxDecoded = 4 * kMaxDescriptors;  // bytes of its chunks, which are not full
constexpr std::uint64_t kMaxIndexBlock = 64U << 10;         // bytes of a block of elements
constexpr std::uint64_t kMaxPages = 16;                     // of a fixed array
constexpr std::uint64_t kUsualChildren = 64;                // of a node
constexpr std::uint32_t kNotFiltered = ~0U;                 // a filter mask

// The chunks of one dataset. It is kept by what it adds to the levels.
class Chunks : public std::enable_shared_from_this<Chunks> {
 public:
  Chunks(Levels& levels, ChunkedText text) : levels_(levels), text_(std::move(text)) {}

  // False for a dataset that is not small, or cannot be right.
  bool is_small() {
    const format::DataLayout& layout = text_.layout;
    const std::size_t rank = layout.chunk_dims.size();
    const auto elements = text_.space.element_count();
    if (rank == 0 || text_.space.rank() != rank || layout.element_size != text_.type->size) return false;
    if (!elements || *elements == 0 || *elements > kMaxDescriptors / layout.element_size) return false;
    std::uint64_t chunks = 1, bytes = layout.element_size;
    for (std::size_t i = 0; i < rank; ++i) {
      if (layout.chunk_dims[i] == 0) return false;
      grid_.push_back(divide_up(text_.space.dims[i], layout.chunk_dims[i]));
      chunks *= grid_.back();  // no overflow: there are not more than elements
      const auto more = checked_mul(bytes, layout.chunk_dims[i]);
      if (!more || *more > kMaxDecoded) return false;
      bytes = *more;
    }
    chunk_bytes_ = bytes;
    chunks_left_ = chunks;
    const bool few = chunks <= kMaxChunks && chunks <= kMaxDecoded / bytes;
    return few && (is_filtered() || bytes * chunks <= kMaxDescriptors);
  }

  bool make_pipeline() {
    if (!is_filtered()) return true;
    auto pipeline = make_filter_pipeline(text_.filters, chunk_bytes_);
    if (pipeline) pipeline_ = *std::move(pipeline);
    return pipeline_ != nullptr;
  }

  void expect_index() {
    const format::DataLayout& layout = text_.layout;
    switch (layout.index) {
      case format::ChunkIndexKind::BTree1:
        return expect_node(layout.address);
      case format::ChunkIndexKind::Single:
        if (layout.single_filtered)
          return expect_chunk({layout.address, layout.single_stored_size, layout.single_filter_mask});
        return expect_chunk({layout.address, chunk_bytes_, kNotFiltered});
      case format::ChunkIndexKind::Implicit:
        for (std::uint64_t i = 0, left = chunks_left_; i < left && layout.address < levels_.file_bytes(); ++i)
          expect_chunk({layout.address + i * chunk_bytes_, chunk_bytes_, 0});
        return;
      case format::ChunkIndexKind::FixedArray:
        return expect_fixed_array();
      case format::ChunkIndexKind::ExtensibleArray:
        return expect_extensible_array();
      case format::ChunkIndexKind::BTree2:
        return expect_btree2(levels_, layout.address, [self = shared_from_this()](format::Cursor record) {
          const auto format =
              format::ChunkRecordFormat::make(self->parameters(self->grid_.size()), record.remaining());
          if (format) self->expect_chunk(format->entry(record.rest().data()));
        });
    }
  }

 private:
  bool is_filtered() const { return !text_.filters.empty(); }

  format::ChunkRecordFormat::Parameters parameters(std::size_t coordinates) const {
    return {.client = is_filtered() ? format::ChunkClient::Filtered : format::ChunkClient::Plain,
            .size_of_offsets = levels_.sizes().offsets,
            .coordinates = static_cast<unsigned>(coordinates),
            .chunk_bytes = chunk_bytes_};
  }
  // Any number of elements will do: what is not there is not asked for.
  format::ArrayOfChunks array() const { return {.record = parameters(0), .elements = 0}; }

  // ---- a chunk

  void expect_chunk(const format::ChunkEntry& chunk) {
    if (chunk.address == format::kUndefinedAddress || chunk.stored_size == 0) return;
    if (chunk.stored_size > kMaxDescriptors || chunks_left_ == 0) return;
    --chunks_left_;
    levels_.expect(
        chunk.address, chunk.stored_size,
        [self = shared_from_this(), mask = chunk.filter_mask](const MetadataBlock& block) {
          self->decode(block.bytes(), mask);
        },
        Among::Data);
  }

  void decode(ByteSpan stored, std::uint32_t mask) {
    if (!is_filtered()) return expect_values(levels_, *text_.type, stored);
    if (!levels_.spend(chunk_bytes_)) return;
    note_long_work();  // one of very many, perhaps
    std::vector<std::byte> values(static_cast<std::size_t>(chunk_bytes_));
    filter::FilterScratch scratch;
    if (const auto bytes = pipeline_->decode_up_to(stored, mask, values, scratch))
      expect_values(levels_, *text_.type, ByteSpan(values).first(*bytes));
  }

  // The elements of an array, one after the other.
  void expect_elements(const format::ChunkRecordFormat& format, ByteSpan elements, std::uint64_t count) {
    for (; count > 0 && elements.size() >= format.record_bytes(); --count) {
      expect_chunk(format.entry(elements.data()));
      elements = elements.subspan(format.record_bytes());
    }
  }

  // ---- version 1 B-tree

  std::uint64_t node_bytes(std::uint64_t children) const {
    return format::chunk_btree1_node_bytes(levels_.sizes(), grid_.size(), children);
  }

  void expect_node(std::uint64_t address) {
    levels_.expect(address, node_bytes(kUsualChildren),
                   [self = shared_from_this(), address](const MetadataBlock& block) {
                     format::Cursor first = block.cursor(kReadAhead);
                     const auto entries = format::decode_chunk_btree1_entries(first);
                     if (!entries) return;
                     self->levels_.with(block, address, self->node_bytes(*entries),
                                        [self](const MetadataBlock& node) { self->expect_children(node); });
                   });
  }

  void expect_children(const MetadataBlock& block) {
    format::Cursor cursor = block.cursor(kReadAhead);
    const auto node = format::decode_chunk_btree1_node(cursor, text_.layout.chunk_dims, {});
    if (!node) return;
    for (std::size_t i = 0; i < node->size(); ++i) {
      const format::ChunkBTree1Node::Child& child = node->children[i];
      const std::span<const std::uint64_t> key(node->key(i), grid_.size());
      if (node->level > 0)
        expect_node(child.address);
      else if (std::ranges::equal(key, grid_, std::less<>{}))
        expect_chunk({child.address, is_filtered() ? child.stored_size : chunk_bytes_, child.filter_mask});
    }
  }

  // ---- fixed array

  void expect_fixed_array() {
    const std::uint64_t address = text_.layout.address;
    levels_.expect(address, format::fixed_array_header_bytes(levels_.sizes()),
                   [self = shared_from_this(), address](const MetadataBlock& block) {
                     format::Cursor cursor = block.cursor(kReadAhead);
                     const auto header = format::decode_fixed_array_header(cursor, self->array());
                     if (header && header->data_block_bytes <= kMaxIndexBlock)
                       self->expect_data_block(*header, address);
                   });
  }

  void expect_data_block(const format::FixedArrayHeader& header, std::uint64_t header_address) {
    levels_.expect(header.data_block_address, header.data_block_bytes,
                   [self = shared_from_this(), header, header_address](const MetadataBlock& block) {
                     format::Cursor cursor = block.cursor(kReadAhead);
                     if (!format::decode_fixed_array_data_block(cursor, header, header_address)) return;
                     const ByteSpan body = block.bytes().subspan(header.body_at);
                     if (header.paged)
                       self->expect_pages(header, body.data());
                     else
                       self->expect_elements(header.format, body, header.entry_count);
                   });
  }

  void expect_pages(const format::FixedArrayHeader& header, const std::byte* bitmap) {
    if (header.page_bytes(header.page_entries) > kMaxIndexBlock) return;
    const std::uint64_t first = header.data_block_address + header.data_block_bytes;
    for (std::uint64_t page = 0; page < std::min(header.page_count, kMaxPages); ++page) {
      if (!format::page_bit(bitmap, page)) continue;
      const std::uint64_t entries =
          std::min(header.page_entries, header.entry_count - page * header.page_entries);
      levels_.expect(
          first + page * header.page_bytes(header.page_entries), header.page_bytes(entries),
          [self = shared_from_this(), format = header.format, entries](const MetadataBlock& block) {
            self->expect_elements(format, block.bytes(), entries);
          });
    }
  }

  // ---- extensible array

  using ArrayHeader = std::shared_ptr<const format::ExtensibleArrayHeader>;

  // Calls `visit` with each of the addresses that a block holds, and its number.
  template <class Visit>
  void for_each_address(const MetadataBlock& block, std::size_t at, std::uint64_t count, Visit visit) const {
    const std::size_t width = levels_.sizes().offsets;
    if (at > block.bytes().size() || count > (block.bytes().size() - at) / width) return;
    format::Cursor cursor = block.cursor(kReadAhead);
    cursor.seek(at);
    for (std::uint64_t i = 0; i < count; ++i) visit(cursor.address("address"), i);
  }

  void expect_extensible_array() {
    const std::uint64_t address = text_.layout.address;
    levels_.expect(
        address, format::extensible_array_header_bytes(levels_.sizes()),
        [self = shared_from_this(), address](const MetadataBlock& block) {
          format::Cursor cursor = block.cursor(kReadAhead);
          auto decoded = format::decode_extensible_array_header(cursor, self->array());
          if (!decoded) return;
          const auto header = std::make_shared<const format::ExtensibleArrayHeader>(*std::move(decoded));
          self->levels_.expect(header->index_block_address, header->index_block_bytes,
                               [self, header, address](const MetadataBlock& index) {
                                 format::Cursor check = index.cursor(kReadAhead);
                                 if (format::decode_extensible_array_index_block(check, *header, address))
                                   self->expect_blocks(header, address, index);
                               });
        });
  }

  // What an index block has or names.
  void expect_blocks(const ArrayHeader& header, std::uint64_t header_address, const MetadataBlock& index) {
    expect_elements(header->format, index.bytes().subspan(header->index_elements_at),
                    header->index_block_elements);
    unsigned of = 0;  // the super block of a data block
    for_each_address(index, header->index_data_blocks_at, header->direct_data_blocks,
                     [&](std::uint64_t address, std::uint64_t i) {
                       while (i >= header->first_data_block_of(of + 1)) ++of;
                       expect_array_data_block(header, address, of);
                     });
    for_each_address(index, header->index_super_blocks_at, header->super_blocks - header->direct_super_blocks,
                     [&](std::uint64_t address, std::uint64_t i) {
                       expect_super_block(header, header_address, address,
                                          header->direct_super_blocks + static_cast<unsigned>(i));
                     });
  }

  void expect_super_block(const ArrayHeader& header, std::uint64_t header_address, std::uint64_t address,
                          unsigned number) {
    const std::uint64_t bytes = format::extensible_array_super_block_bytes(levels_.sizes(), *header, number);
    if (bytes > kMaxIndexBlock || header->pages_per_data_block(number) > 0) return;
    levels_.expect(address, bytes,
                   [self = shared_from_this(), header, header_address, number](const MetadataBlock& block) {
                     format::Cursor check = block.cursor(kReadAhead);
                     if (!format::decode_extensible_array_super_block(check, *header, header_address, number))
                       return;
                     self->for_each_address(block, header->body_at, header->data_blocks_of(number),
                                            [&](std::uint64_t data_block, std::uint64_t) {
                                              self->expect_array_data_block(header, data_block, number);
                                            });
                   });
  }

  void expect_array_data_block(const ArrayHeader& header, std::uint64_t address, unsigned super_block) {
    const std::uint64_t elements = header->data_block_elements(super_block);
    const std::uint64_t bytes = format::extensible_array_data_block_bytes(*header, elements, false);
    if (bytes > kMaxIndexBlock) return;
    levels_.expect(address, bytes, [self = shared_from_this(), header, elements](const MetadataBlock& block) {
      if (block.bytes().size() < header->body_at) return;
      self->expect_elements(header->format, block.bytes().subspan(header->body_at), elements);
    });
  }

  Levels& levels_;
  const ChunkedText text_;
  std::vector<std::uint64_t> grid_;
  std::uint64_t chunk_bytes_ = 0, chunks_left_ = 0;
  std::shared_ptr<const filter::FilterPipeline> pipeline_;
};

}  // namespace

void expect_chunks(Levels& levels, ChunkedText text) {
  const auto chunks = std::make_shared<Chunks>(levels, std::move(text));
  if (chunks->is_small() && chunks->make_pipeline()) chunks->expect_index();
}

}  // namespace h5mount::metadata

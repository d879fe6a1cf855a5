#include "h5mount/metadata/prefetch.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "h5mount/base/limits.h"
#include "h5mount/format/fractal_heap_blocks.h"
#include "h5mount/format/messages.h"
#include "h5mount/format/object_header_format.h"
#include "h5mount/format/superblock.h"
#include "h5mount/format/symbol_table.h"
#include "prefetch_parts.h"

namespace h5mount::metadata {
namespace {

// The sizes that a walk reads before it knows the structure's size.
constexpr std::uint64_t kHeaderGuess = 512;
constexpr std::uint64_t kGroupNodeGuess = 33, kSymbolsGuess = 8;  // in entries

class Walk final : public Levels {
 public:
  using Levels::Levels;

  void add(const StructureAt& first) {
    switch (first.kind) {
      case Structure::ObjectHeader:
      case Structure::Links:
      case Structure::ListedObject:
      case Structure::Listing:
      case Structure::Object:
        return add_header(first.address, first.kind);
      case Structure::GroupTree:
        return add_group_node(first.address);
      case Structure::LocalHeap:
        return add_local_heap(first.address);
      case Structure::FractalHeap:
        return add_fractal_heap(first.address);
      case Structure::BTree2:
        return expect_btree2(*this, first.address, nullptr);
    }
  }

 private:
  // ---- object headers

  using Of = Structure;  // what of an object's is wanted

  void add_header(std::uint64_t address, Of of) {
    const bool listed = of == Of::ListedObject || of == Of::Listing;
    const auto text = listed ? std::make_shared<TextAhead>(*this) : nullptr;
    expect(address, kHeaderGuess, [this, address, of, text](const MetadataBlock& block) {
      format::Cursor cursor = block.cursor(kReadAhead);
      const auto prefix = format::decode_object_header_prefix(cursor);
      if (!prefix) return;
      const std::uint64_t whole =
          prefix->prefix_bytes + prefix->chunk0_bytes + format::header_checksum_bytes(prefix->version);
      with(block, address, whole, [this, prefix = *prefix, whole, of, text](const MetadataBlock& chunk) {
        add_messages(chunk, prefix, prefix.prefix_bytes, whole, of, text);
      });
    });
  }

  void add_messages(const MetadataBlock& block, const format::ObjectHeaderPrefix& prefix, std::size_t start,
                    std::uint64_t bytes, Of of, const std::shared_ptr<TextAhead>& text) {
    const std::size_t end = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, block.bytes().size()));
    const std::size_t checksum = format::header_checksum_bytes(prefix.version);
    if (end < start + checksum) return;
    format::Cursor messages(block.bytes().subspan(start, end - checksum - start), block.file_offset() + start,
                            kReadAhead, sizes());
    (void)format::for_each_raw_message(messages, prefix, [&](const format::RawMessage& raw) -> Status {
      format::Cursor body(raw.body, raw.offset, kReadAhead, sizes());
      if (of == Of::Links || of == Of::Listing || of == Of::Object) add_links(raw.type, body);
      if (of == Of::Object) add_attributes(raw, body);
      if (text) text->note(raw, body);
      if (raw.type != static_cast<std::uint16_t>(format::MessageType::ObjectHeaderContinuation)) return {};
      const auto next = format::decode_header_continuation(body, prefix.version);
      if (!next || next->length.value > limits::kMaxHeaderBytes) return {};
      const std::size_t signature = prefix.version == 1 ? 0 : 4;
      if (text) text->note_continuation();
      expect(next->address.value, next->length.value,
             [this, prefix, signature, length = next->length.value, of, text](const MetadataBlock& chunk) {
               add_messages(chunk, prefix, signature, length, of, text);
             });
      return {};
    });
    if (text) text->end_block();
  }

  // Of links that are not in the header itself.
  void add_links(std::uint16_t type, format::Cursor body) {
    if (type == static_cast<std::uint16_t>(format::MessageType::SymbolTable)) {
      const auto table = format::decode_symbol_table_message(body);
      if (!table) return;
      add_group_node(table->btree_address);
      add_local_heap(table->local_heap_address);
    } else if (type == static_cast<std::uint16_t>(format::MessageType::LinkInfo)) {
      if (const auto info = format::decode_link_info(body)) add_indexed_heap(*info);
    }
  }

  // Attributes that are not in the header itself, and the values of those that are.
  void add_attributes(const format::RawMessage& raw, format::Cursor body) {
    if (is_message(raw, format::MessageType::AttributeInfo)) {
      if (const auto info = format::decode_attribute_info(body)) add_indexed_heap(*info);
    } else if (is_message(raw, format::MessageType::Attribute)) {
      const auto attribute = format::decode_attribute(body);
      if (!attribute || attribute->shared_datatype) return;
      if (const auto type = type_of_text(attribute->datatype, sizes()))
        expect_values(*this, *type, attribute->data);
    }
  }

  void add_indexed_heap(const format::LinkInfo& info) {
    add_fractal_heap(info.fractal_heap_address);
    const bool by_name = info.name_index_address != format::kUndefinedAddress;
    expect_btree2(*this, by_name ? info.name_index_address : info.creation_order_index_address, nullptr);
  }

  // ---- old-style groups

  std::uint64_t group_node_bytes(std::uint64_t entries) const {
    return format::group_btree1_node_bytes(sizes(), entries);
  }

  void add_group_node(std::uint64_t address) {
    expect(address, group_node_bytes(kGroupNodeGuess), [this, address](const MetadataBlock& block) {
      format::Cursor first = block.cursor(kReadAhead);
      const auto entries = format::decode_group_btree1_entries(first);
      if (!entries) return;
      with(block, address, std::min(group_node_bytes(std::uint64_t{*entries} + 1), file_bytes() - address),
           [this](const MetadataBlock& node) { add_group_children(node); });
    });
  }

  void add_group_children(const MetadataBlock& block) {
    constexpr std::uint64_t kMaxEntries = 65'535;
    format::Cursor cursor = block.cursor(kReadAhead);
    const auto node = format::decode_group_btree1_node(cursor, kMaxEntries, std::nullopt);
    if (!node) return;
    const auto add_child = [&](std::uint64_t child) {
      if (node->level > 0)
        add_group_node(child);
      else
        add_symbols(child);
    };
    for (const std::uint64_t child : node->children) add_child(child);
    if (node->unused) add_child(node->unused->child);  // a walk looks there for a missing name
  }

  void add_symbols(std::uint64_t address) {
    expect(address, format::symbol_table_node_bytes(sizes(), kSymbolsGuess),
           [this, address](const MetadataBlock& block) {
             format::Cursor cursor = block.cursor(kReadAhead);
             if (const auto entries = format::decode_symbol_table_node_entries(cursor))
               with(block, address, format::symbol_table_node_bytes(sizes(), *entries), nullptr);
           });
  }

  void add_local_heap(std::uint64_t address) {
    expect(address, format::local_heap_header_bytes(sizes()), [this](const MetadataBlock& block) {
      format::Cursor cursor = block.cursor(kReadAhead);
      if (const auto heap = format::decode_local_heap_header(cursor))
        expect(heap->segment_address, heap->segment_size, nullptr);
    });
  }

  // ---- fractal heaps

  using HeapHeader = std::shared_ptr<const format::FractalHeapHeader>;

  void add_fractal_heap(std::uint64_t address) {
    expect(address, format::fractal_heap_header_bytes(sizes(), 0),
           [this, address](const MetadataBlock& block) {
             format::Cursor first = block.cursor(kReadAhead);
             const auto filters = format::decode_fractal_heap_filter_length(first);
             if (!filters) return;
             with(block, address, format::fractal_heap_header_bytes(sizes(), *filters),
                  [this, address](const MetadataBlock& whole) { add_heap_blocks(whole, address); });
           });
  }

  void add_heap_blocks(const MetadataBlock& block, std::uint64_t address) {
    format::Cursor cursor = block.cursor(kReadAhead);
    auto decoded = format::decode_fractal_heap_header(cursor, address, std::nullopt);
    if (!decoded) return;
    const auto header = std::make_shared<const format::FractalHeapHeader>(*std::move(decoded));
    if (header->root_rows > 0)
      add_indirect_block(header, header->root_address, header->root_rows);
    else
      expect(header->root_address,
             header->filters ? header->filtered_root_size : header->table.start_block_size, nullptr);
    expect_btree2(*this, header->huge_btree_address,
                  [this, filtered = header->filters.has_value()](format::Cursor record) {
                    if (const auto huge = format::decode_huge_record(record, filtered))
                      expect(huge->object.address, huge->object.stored_size, nullptr);
                  });
  }

  void add_indirect_block(const HeapHeader& header, std::uint64_t address, unsigned rows) {
    expect(address, header->indirect_block_bytes(sizes(), rows),
           [this, header, rows](const MetadataBlock& block) {
             const format::DoublingTable& table = header->table;
             for (unsigned row = 0; row < rows; ++row)
               for (std::uint64_t i = 0; i < table.width; ++i) {
                 format::Cursor cursor = block.cursor(kReadAhead);
                 const auto entry = format::decode_indirect_entry(
                     cursor, *header, {row, std::uint64_t{row} * table.width + i, 0});
                 if (!entry || !spend(1)) return;
                 const std::uint64_t bytes = table.block_size(row);
                 if (row < table.max_direct_rows)
                   expect(entry->address, header->filters ? entry->filtered_size : bytes, nullptr);
                 else if (const unsigned below = table.rows_of(bytes); below > 0 && below < rows)
                   add_indirect_block(header, entry->address, below);
               }
           });
  }
};

}  // namespace

void will_read_structures(const FileMetadata& file, std::span<const ByteRange> addresses) {
  tell_source(file, addresses, {});
}

// A walk may leave some out, which it has cached, and read others, which are not in the list.
void ReadInOrder::reached(std::uint64_t address) {
  constexpr std::size_t kMaxLeftOut = 256, kWindow = 512;
  const auto end =
      addresses_.begin() + static_cast<std::ptrdiff_t>(std::min(at_ + kMaxLeftOut, addresses_.size()));
  const auto found = std::find_if(addresses_.begin() + static_cast<std::ptrdiff_t>(at_), end,
                                  [&](const ByteRange& range) { return range.begin == address; });
  if (found == end) return;
  at_ = static_cast<std::size_t>(found - addresses_.begin());
  if (told_ == addresses_.size() || told_ > at_ + kWindow / 2) return;
  const std::size_t first = std::max(told_, at_);
  told_ = std::min(at_ + kWindow, addresses_.size());
  will_read_structures(file_, std::span(addresses_).subspan(first, told_ - first));
}

void prefetch(const FileMetadata& file, std::span<const StructureAt> first, RequestBudget& budget,
              unsigned levels) {
  Walk walk(file, budget);
  for (const StructureAt& structure : first) walk.add(structure);
  walk.run(levels);
}

}  // namespace h5mount::metadata

#include "h5mount/metadata/prefetch.h"

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <vector>

#include "global_heap_collection.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/format/btree2_node.h"
#include "h5mount/format/data_layout.h"
#include "h5mount/format/datatype.h"
#include "h5mount/format/fractal_heap_blocks.h"
#include "h5mount/format/global_heap_format.h"
#include "h5mount/format/messages.h"
#include "h5mount/format/object_header_format.h"
#include "h5mount/format/superblock.h"
#include "h5mount/format/symbol_table.h"
#include "heap_references.h"
#include "metadata_caches.h"

namespace h5mount::metadata {
namespace {

// The sizes that a walk reads before it knows the structure's size.
constexpr std::uint64_t kHeaderGuess = 512;
constexpr std::uint64_t kHeapGuess = 4096;                        // a collection is not smaller
constexpr std::uint64_t kGroupNodeGuess = 33, kSymbolsGuess = 8;  // in entries

constexpr std::size_t kMaxStructures = 1U << 16;
constexpr std::uint64_t kMaxBytes = 64U << 20;
constexpr std::uint64_t kMaxDescriptors = 256U << 10;  // bytes of a dataset that is small
constexpr std::uint64_t kMaxCollection = 1U << 20;
constexpr std::string_view kReadAhead = "structure that is read ahead";

// In order; ranges that touch become one.
std::vector<ByteRange> joined(std::vector<ByteRange> ranges) {
  std::ranges::sort(ranges, {}, &ByteRange::begin);
  std::vector<ByteRange> out;
  for (const ByteRange& range : ranges) {
    if (out.empty() || range.begin > out.back().end)
      out.push_back(range);
    else
      out.back().end = std::max(out.back().end, range.end);
  }
  return out;
}

// Addresses in whole pages, or nothing if these are more than a listing is worth.
std::vector<ByteRange> in_pages(const FileMetadata& file, std::span<const ByteRange> ranges) {
  constexpr std::uint64_t kMaxPaged = 16U << 20;
  const MetadataPages pages{0, file.caches() ? file.caches()->pages.bytes : 0};  // of addresses
  std::vector<ByteRange> out;
  if (!pages.are_larger_than(file.source()->block_bytes())) return out;
  std::uint64_t bytes = 0, last = 0;
  for (const ByteRange& range : ranges)
    for (std::uint64_t at = range.begin; at < range.end; at = last) {
      const ByteRange page = pages.around(at);
      last = page.end;
      if (!out.empty() && page.end <= out.back().end) continue;
      bytes += page.end - page.begin;
      if (bytes > kMaxPaged) return {};
      out.push_back({page.begin, std::min(page.end, file.source()->size())});
    }
  return out;
}

std::vector<ByteRange> in_blocks(const FileMetadata& file, std::span<const ByteRange> addresses) {
  const std::uint64_t block = file.source()->block_bytes(), base = file.base_address(),
                      size = file.source()->size();
  std::vector<ByteRange> ranges;
  for (const ByteRange& range : addresses) {
    if (range.begin >= size || range.end <= range.begin) continue;
    const std::uint64_t begin = (base + range.begin) / block * block;
    const std::uint64_t end = divide_up(base + std::min(range.end, size), block) * block;
    ranges.push_back({begin - std::min(begin, base), std::min(end - base, size)});
  }
  return joined(std::move(ranges));
}

// `structures` are alone in their pages, `data` is not.
void tell_source(const FileMetadata& file, std::span<const ByteRange> structures,
                 std::span<const ByteRange> data) {
  std::vector<ByteRange> ranges = in_blocks(file, structures);
  if (auto pages = in_pages(file, ranges); !pages.empty()) ranges = std::move(pages);
  for (const ByteRange& range : in_blocks(file, data)) ranges.push_back(range);
  ranges = joined(std::move(ranges));
  if (!ranges.empty()) file.source()->will_read(ranges);
}

class Levels {
 public:
  Levels(const FileMetadata& file, RequestBudget& budget)
      : file_(file), source_(*file.source()), sizes_(file.sizes()), budget_(budget) {}

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
        return add_btree2(first.address, nullptr);
    }
  }

  void run(unsigned levels) {
    for (; levels > 0 && !next_.empty(); --levels) {
      const std::vector<Place> level = std::exchange(next_, {});
      std::uint64_t bytes = 0;
      for (const Place& place : level) bytes += place.bytes;
      if (!budget_.spend(bytes)) return;
      tell(level);
      if (levels == 1) return;
      for (const Place& place : level) {
        if (!place.decode) continue;
        if (const auto block = file_.read_up_to(place.address, place.bytes, kReadAhead, place.among))
          place.decode(*block);
      }
    }
  }

 private:
  // Adds the structures that a decoded one leads to.
  using Decode = std::function<void(const MetadataBlock&)>;
  struct Place {
    std::uint64_t address, bytes;
    Decode decode;            // null if it leads nowhere
    Among among = Among::Structures;
  };
  // Called with each record of a B-tree.
  using OnRecord = std::function<void(format::Cursor record)>;

  // Adds a structure. One that was met before is left out, as it may lead back to itself.
  void expect(std::uint64_t address, std::uint64_t bytes, Decode decode, Among among = Among::Structures) {
    if (address == format::kUndefinedAddress || !seen_.insert(address).second) return;
    expect_more(address, bytes, std::move(decode), among);
  }
  void expect_more(std::uint64_t address, std::uint64_t bytes, Decode decode, Among among = Among::Structures) {
    if (seen_.size() > kMaxStructures || bytes > kMaxBytes - told_ || address >= source_.size()) return;
    told_ += bytes;
    next_.push_back({address, bytes, std::move(decode), among});
  }
  // Calls `decode` with the `needed` bytes that the structure turned out to have: now, or in the next level
  // if `block` has fewer.
  void with(const MetadataBlock& block, std::uint64_t address, std::uint64_t needed, const Decode& decode) {
    if (needed > block.bytes().size())
      expect_more(address, needed, decode);
    else if (decode)
      decode(block);
  }

  void tell(const std::vector<Place>& level) const {
    std::vector<ByteRange> structures, data;
    for (const Place& place : level)
      (place.among == Among::Data ? data : structures).push_back({place.address, place.address + place.bytes});
    tell_source(file_, structures, data);
  }

  // ---- object headers

  using Of = Structure;  // what of an object's is wanted

  void add_header(std::uint64_t address, Of of) {
    expect(address, kHeaderGuess, [this, address, of](const MetadataBlock& block) {
      format::Cursor cursor = block.cursor(kReadAhead);
      const auto prefix = format::decode_object_header_prefix(cursor);
      if (!prefix) return;
      const std::uint64_t whole =
          prefix->prefix_bytes + prefix->chunk0_bytes + format::header_checksum_bytes(prefix->version);
      with(block, address, whole, [this, prefix = *prefix, whole, of](const MetadataBlock& chunk) {
        add_messages(chunk, prefix, prefix.prefix_bytes, whole, of);
      });
    });
  }

  void add_messages(const MetadataBlock& block, const format::ObjectHeaderPrefix& prefix, std::size_t start,
                    std::uint64_t bytes, Of of) {
    const std::size_t end = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, block.bytes().size()));
    const std::size_t checksum = format::header_checksum_bytes(prefix.version);
    if (end < start + checksum) return;
    format::Cursor messages(block.bytes().subspan(start, end - checksum - start), block.file_offset() + start,
                            kReadAhead, sizes_);
    SmallDataset dataset;
    (void)format::for_each_raw_message(messages, prefix, [&](const format::RawMessage& raw) -> Status {
      format::Cursor body(raw.body, raw.offset, kReadAhead, sizes_);
      if (of == Of::Links || of == Of::Listing || of == Of::Object) add_links(raw.type, body);
      if (of == Of::Object) add_attributes(raw, body);
      if (of == Of::ListedObject || of == Of::Listing) dataset.note(raw, body);
      if (raw.type != static_cast<std::uint16_t>(format::MessageType::ObjectHeaderContinuation)) return {};
      const auto next = format::decode_header_continuation(body, prefix.version);
      if (!next || next->length.value > limits::kMaxHeaderBytes) return {};
      const std::size_t signature = prefix.version == 1 ? 0 : 4;
      expect(next->address.value, next->length.value,
             [this, prefix, signature, length = next->length.value, of](const MetadataBlock& chunk) {
               add_messages(chunk, prefix, signature, length, of);
             });
      return {};
    });
    add_text(std::move(dataset));
  }

  static bool is(const format::RawMessage& raw, format::MessageType type) {
    constexpr std::uint8_t kShared = 2;
    return raw.type == static_cast<std::uint16_t>(type) && (raw.flags & kShared) == 0;
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
    if (is(raw, format::MessageType::AttributeInfo)) {
      if (const auto info = format::decode_attribute_info(body)) add_indexed_heap(*info);
    } else if (is(raw, format::MessageType::Attribute)) {
      const auto attribute = format::decode_attribute(body);
      if (!attribute || attribute->shared_datatype) return;
      if (const auto type = type_with_heap(attribute->datatype)) add_values(*type, attribute->data);
    }
  }

  // ---- values in the global heap

  // The datatype of a message, if values of it may lie in the global heap.
  format::DatatypePtr type_with_heap(ByteSpan message) const {
    if (message.empty()) return nullptr;
    switch (static_cast<format::DatatypeClass>(message[0] & std::byte{0xF})) {
      case format::DatatypeClass::VariableLength:
      case format::DatatypeClass::Compound:
      case format::DatatypeClass::Array:
      case format::DatatypeClass::Reference:
        break;
      default:
        return nullptr;
    }
    format::Cursor cursor(message, 0, kReadAhead, sizes_);
    auto type = format::decode_datatype(cursor);
    return type && ((*type)->has_variable_part || (*type)->has_reference) ? *std::move(type) : nullptr;
  }

  void add_values(const format::Datatype& type, ByteSpan elements) {
    for_each_heap_reference(type, elements, sizes_,
                            [this](std::uint64_t address) { add_collection(address); });
  }

  void add_collection(std::uint64_t address) {
    const auto rest = [this, address](const MetadataBlock& block) {
      format::Cursor cursor = block.cursor(kReadAhead);
      const auto bytes = format::decode_global_heap_header(cursor);
      if (bytes && *bytes > block.bytes().size() && *bytes <= kMaxCollection)
        expect_more(address, *bytes, nullptr, Among::Data);
    };
    expect(address, kHeapGuess, rest, Among::Data);
  }

  // What a header says of a dataset whose bytes are few, and in one piece.
  struct SmallDataset {
    ByteSpan type;
    std::optional<format::DataLayout> layout;

    void note(const format::RawMessage& raw, format::Cursor body) {
      if (is(raw, format::MessageType::Datatype)) type = raw.body;
      if (!is(raw, format::MessageType::DataLayout)) return;
      if (auto decoded = format::decode_data_layout(body)) layout = *std::move(decoded);
    }
  };

  void add_text(SmallDataset dataset) {
    if (!dataset.layout) return;
    const format::DataLayout& layout = *dataset.layout;
    const bool compact = layout.cls == format::LayoutClass::Compact;
    const bool contiguous = layout.cls == format::LayoutClass::Contiguous && layout.has_size;
    if (!compact && (!contiguous || layout.size > kMaxDescriptors)) return;
    const auto type = type_with_heap(dataset.type);
    if (!type) return;
    if (compact) return add_values(*type, layout.compact_data);
    const auto values = [this, type](const MetadataBlock& block) { add_values(*type, block.bytes()); };
    expect(layout.address, layout.size, values, Among::Data);
  }

  void add_indexed_heap(const format::LinkInfo& info) {
    add_fractal_heap(info.fractal_heap_address);
    const bool by_name = info.name_index_address != format::kUndefinedAddress;
    add_btree2(by_name ? info.name_index_address : info.creation_order_index_address, nullptr);
  }

  // ---- old-style groups

  std::uint64_t group_node_bytes(std::uint64_t entries) const {
    return format::group_btree1_node_bytes(sizes_, entries);
  }

  void add_group_node(std::uint64_t address) {
    expect(address, group_node_bytes(kGroupNodeGuess), [this, address](const MetadataBlock& block) {
      format::Cursor first = block.cursor(kReadAhead);
      const auto entries = format::decode_group_btree1_entries(first);
      if (!entries) return;
      with(block, address, std::min(group_node_bytes(std::uint64_t{*entries} + 1), source_.size() - address),
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
    expect(address, format::symbol_table_node_bytes(sizes_, kSymbolsGuess),
           [this, address](const MetadataBlock& block) {
             format::Cursor cursor = block.cursor(kReadAhead);
             if (const auto entries = format::decode_symbol_table_node_entries(cursor))
               with(block, address, format::symbol_table_node_bytes(sizes_, *entries), nullptr);
           });
  }

  void add_local_heap(std::uint64_t address) {
    expect(address, format::local_heap_header_bytes(sizes_), [this](const MetadataBlock& block) {
      format::Cursor cursor = block.cursor(kReadAhead);
      if (const auto heap = format::decode_local_heap_header(cursor))
        expect(heap->segment_address, heap->segment_size, nullptr);
    });
  }

  // ---- fractal heaps

  using HeapHeader = std::shared_ptr<const format::FractalHeapHeader>;

  void add_fractal_heap(std::uint64_t address) {
    expect(address, format::fractal_heap_header_bytes(sizes_, 0),
           [this, address](const MetadataBlock& block) {
             format::Cursor first = block.cursor(kReadAhead);
             const auto filters = format::decode_fractal_heap_filter_length(first);
             if (!filters) return;
             with(block, address, format::fractal_heap_header_bytes(sizes_, *filters),
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
    add_btree2(header->huge_btree_address,
               [this, filtered = header->filters.has_value()](format::Cursor record) {
                 if (const auto huge = format::decode_huge_record(record, filtered))
                   expect(huge->object.address, huge->object.stored_size, nullptr);
               });
  }

  void add_indirect_block(const HeapHeader& header, std::uint64_t address, unsigned rows) {
    expect(address, header->indirect_block_bytes(sizes_, rows),
           [this, header, rows](const MetadataBlock& block) {
             const format::DoublingTable& table = header->table;
             for (unsigned row = 0; row < rows; ++row)
               for (std::uint64_t i = 0; i < table.width; ++i) {
                 format::Cursor cursor = block.cursor(kReadAhead);
                 const auto entry = format::decode_indirect_entry(
                     cursor, *header, {row, std::uint64_t{row} * table.width + i, 0});
                 if (!entry || !budget_.spend(1)) return;
                 const std::uint64_t bytes = table.block_size(row);
                 if (row < table.max_direct_rows)
                   expect(entry->address, header->filters ? entry->filtered_size : bytes, nullptr);
                 else if (const unsigned below = table.rows_of(bytes); below > 0 && below < rows)
                   add_indirect_block(header, entry->address, below);
               }
           });
  }

  // ---- version 2 B-trees

  using TreeHeader = std::shared_ptr<const format::BTree2Header>;

  void add_btree2(std::uint64_t address, OnRecord on_record) {
    expect(address, format::btree2_header_bytes(sizes_),
           [this, on_record = std::move(on_record)](const MetadataBlock& block) {
             constexpr std::size_t kTypeAt = 5;  // after the signature and the version
             if (block.bytes().size() <= kTypeAt) return;
             format::Cursor cursor = block.cursor(kReadAhead);
             auto decoded = format::decode_btree2_header(
                 cursor, {.type = std::to_integer<std::uint8_t>(block.bytes()[kTypeAt])});
             if (!decoded) return;
             const auto header = std::make_shared<const format::BTree2Header>(*std::move(decoded));
             add_btree2_node(header, format::btree2_root(*header), header->depth, on_record);
           });
  }

  void add_btree2_node(const TreeHeader& header, const format::BTree2Child& child, unsigned level,
                       const OnRecord& on_record) {
    if (!format::check_btree2_child(*header, child, level)) return;
    const std::uint64_t bytes = format::btree2_node_bytes(*header, sizes_, level, child.record_count);
    if (level == 0 && !on_record) return expect(child.address, bytes, nullptr);
    expect(child.address, bytes,
           [this, header, level, on_record, records = child.record_count](const MetadataBlock& block) {
             format::Cursor cursor = block.cursor(kReadAhead);
             const auto node = format::decode_btree2_node(cursor, *header, level, records);
             if (!node) return;
             for (const format::BTree2Child& below : node->children)
               add_btree2_node(header, below, level - 1, on_record);
             if (!on_record) return;
             for (std::uint64_t i = 0; i < records; ++i) {
               const std::size_t at = node->records_at + static_cast<std::size_t>(i) * header->record_size;
               on_record(format::Cursor(block.bytes().subspan(at, header->record_size),
                                        block.file_offset() + at, kReadAhead, sizes_));
             }
           });
  }

  const FileMetadata& file_;
  const io::ByteSource& source_;
  const format::FileSizes sizes_;
  RequestBudget& budget_;
  std::vector<Place> next_;
  std::unordered_set<std::uint64_t> seen_;
  std::uint64_t told_ = 0;  // bytes that the source was told of
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
  Levels walk(file, budget);
  for (const StructureAt& structure : first) walk.add(structure);
  walk.run(levels);
}

}  // namespace h5mount::metadata

#include "h5mount/ahead/prefetch.h"

#include <memory>

#include "h5mount/format/fractal_heap_blocks.h"
#include "h5mount/format/symbol_table.h"
#include "h5mount/metadata/btree2.h"
#include "h5mount/metadata/fractal_heap.h"
#include "h5mount/metadata/symbol_table.h"
#include "prefetch_text.h"

namespace h5mount::ahead {
namespace {

using format::MessageType;
using HeapHeader = std::shared_ptr<const format::FractalHeapHeader>;
using OnRecord = std::function<void(format::Cursor record)>;

class Prefetch {
 public:
  Prefetch(const metadata::FileMetadata& file, RequestBudget& budget)
      : sizes_(file.sizes()), levels_(file, budget), asked_(levels_.asked_file()) {}

  void run(unsigned levels) { levels_.run(levels); }

  void add_header(std::uint64_t address, Wanted wanted) {
    levels_.add_walk(address, [this, address, wanted] {
      const auto header = metadata::load_object_header(*asked_, address);
      if (!header) return;
      for (const metadata::HeaderMessage& message : (*header)->messages)
        if (!message.is_shared()) add_message(message, wanted);
      if ((wanted == Wanted::Listed || wanted == Wanted::Listing) && !(*header)->damage)
        expect_text(levels_, **header);
    });
  }

  void add_links(const format::SymbolTableMessage& links) {
    constexpr std::uint64_t kUsualEntries = 33;  // that are read of a node at first
    levels_.expect(links.btree_address, format::group_btree1_node_bytes(sizes_, kUsualEntries), nullptr);
    levels_.add_walk(links.btree_address, [this, links] {
      const auto table = metadata::SymbolTable::open(asked_, links.btree_address, links.local_heap_address);
      if (table) (void)table->with_names().for_each([](std::string&&, const auto&) { return true; }, nullptr);
    });
  }

  void add_links(const format::LinkInfo& links) {
    levels_.add_walk(links.fractal_heap_address, [this, address = links.fractal_heap_address] {
      auto header = metadata::load_fractal_heap_header(*asked_, address);
      if (header) add_heap_blocks(std::make_shared<const format::FractalHeapHeader>(*std::move(header)));
    });
    const bool by_name = links.name_index_address != format::kUndefinedAddress;
    add_tree(by_name ? links.name_index_address : links.creation_order_index_address, nullptr);
  }

 private:
  // Adds what a message leads to outside the header.
  void add_message(const metadata::HeaderMessage& message, Wanted wanted) {
    const bool all = wanted == Wanted::All;
    const bool links = all || wanted == Wanted::Links || wanted == Wanted::Listing;
    format::Cursor body = message.cursor("ReadAhead");
    if (links && message.type == MessageType::SymbolTable) {
      if (const auto table = format::decode_symbol_table_message(body)) add_links(*table);
    } else if (links && message.type == MessageType::LinkInfo) {
      if (const auto info = format::decode_link_info(body)) add_links(*info);
    } else if (all && message.type == MessageType::AttributeInfo) {
      if (const auto info = format::decode_attribute_info(body)) add_links(*info);
    } else if (all && message.type == MessageType::Attribute) {
      const auto attribute = format::decode_attribute(body);
      if (!attribute || attribute->shared_datatype) return;
      if (const auto type = type_of_text(attribute->datatype, sizes_))
        expect_values(levels_, *type, attribute->data);
    }
  }

  // A tree with all nodes. `on_record` is null if its records lead nowhere.
  void add_tree(std::uint64_t address, OnRecord on_record) {
    using Tree = std::shared_ptr<const metadata::BTree2>;
    levels_.add_walk(address, [this, address, on_record = std::move(on_record), tree = Tree()]() mutable {
      if (!tree) {
        constexpr std::size_t kTypeAt = 5;  // after the signature and the version
        const auto header = asked_->read(address, format::btree2_header_bytes(sizes_), format::kBTree2Header);
        if (!header) return;
        const auto type = std::to_integer<std::uint8_t>(header->bytes()[kTypeAt]);
        auto opened = metadata::BTree2::open(asked_, address, {.type = type});
        if (!opened) return;
        tree = *std::move(opened);
      }
      (void)tree->for_each(
          [&](ByteSpan record, std::uint64_t offset) -> Result<bool> {
            if (on_record) on_record(format::Cursor(record, offset, "ReadAhead", sizes_));
            return true;
          },
          [](const Error&) {});
    });
  }

  // All blocks and huge objects of a heap, whatever ids refer to.
  void add_heap_blocks(const HeapHeader& header) {
    if (header->root_rows > 0)
      add_indirect_block(header, header->root_address, header->root_rows);
    else
      levels_.expect(header->root_address,
                     header->filters ? header->filtered_root_size : header->table.start_block_size, nullptr);
    add_tree(header->huge_btree_address,
             [this, filtered = header->filters.has_value()](format::Cursor record) {
               if (const auto huge = format::decode_huge_record(record, filtered))
                 levels_.expect(huge->object.address, huge->object.stored_size, nullptr);
             });
  }

  void add_indirect_block(const HeapHeader& header, std::uint64_t address, unsigned rows) {
    levels_.expect(address, header->indirect_block_bytes(sizes_, rows),
                   [this, header, rows](const metadata::MetadataBlock& block) {
                     const format::DoublingTable& table = header->table;
                     for (std::uint64_t i = 0; i < std::uint64_t{rows} * table.width; ++i) {
                       const auto row = static_cast<unsigned>(i / table.width);
                       format::Cursor cursor = block.cursor("ReadAhead");
                       const auto entry = format::decode_indirect_entry(cursor, *header, {row, i, 0});
                       if (!entry || !levels_.spend(1)) return;
                       const std::uint64_t bytes = table.block_size(row);
                       if (row < table.max_direct_rows)
                         levels_.expect(entry->address, header->filters ? entry->filtered_size : bytes,
                                        nullptr);
                       else if (const unsigned below = table.rows_of(bytes); below > 0 && below < rows)
                         add_indirect_block(header, entry->address, below);
                     }
                   });
  }

  const format::FileSizes sizes_;
  Levels levels_;
  const metadata::FileMetadataPtr asked_;
};

template <class Message>
void prefetch_storage(const metadata::FileMetadata& file, const Message& links, unsigned levels) {
  if (!file.far()) return;
  RequestBudget budget;
  Prefetch all(file, budget);
  all.add_links(links);
  all.run(levels);
}

}  // namespace

void prefetch(const metadata::FileMetadata& file, std::span<const std::uint64_t> objects, Wanted wanted,
              RequestBudget& budget) {
  Prefetch all(file, budget);
  for (const std::uint64_t address : objects) all.add_header(address, wanted);
  all.run(kAllLevels);
}

void prefetch_links(const metadata::FileMetadata& file, const format::SymbolTableMessage& links,
                    unsigned levels) {
  prefetch_storage(file, links, levels);
}

void prefetch_links(const metadata::FileMetadata& file, const format::LinkInfo& links, unsigned levels) {
  prefetch_storage(file, links, levels);
}

void prefetch_values(const metadata::FileMetadata& file, const format::Datatype& type, ByteSpan elements,
                     RequestBudget& budget) {
  Levels levels(file, budget);
  expect_values(levels, type, elements);
  levels.run(kAllLevels);
}

}  // namespace h5mount::ahead

// The links of an old group: a version 1 B-tree over symbol table nodes, names in a local heap (specification
// III.A.1, III.B, III.D).
//
// Neither nodes nor names have a checksum, so damage is detected by the order of the names: they ascend
// strictly, and the last name of a node equals the key after it. A group for which that does not hold is
// damaged; so is one whose root has a valid entry after the last one that it counts.
//
// A search reads one node a level and the few names it is compared with; an unsuccessful one reads all names
// of those nodes. Threads: const functions from any thread.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "h5mount/format/symbol_table.h"
#include "h5mount/metadata/local_heap.h"

namespace h5mount::metadata {

class SymbolTable {
 public:
  // Reads only the heap's header.
  static Result<SymbolTable> open(FileMetadataPtr file, std::uint64_t btree_address,
                                  std::uint64_t heap_address);

  // The entry of exactly that name; nullopt if there is none. Fails with InvalidValue if the name was not
  // found in nodes whose names are out of order: it may be in another node.
  Result<std::optional<format::SymbolTableEntry>> find(std::string_view name) const;

  // Visits every entry whose name can be read, in the order of the tree; `visit` returns false to stop. Parts
  // that cannot be read, and names out of order, are reported to `damaged` (which may be null); the others
  // are still visited. The status is an error if the root cannot be read.
  using Visit = std::function<bool(std::string&& name, const format::SymbolTableEntry& entry)>;
  using Damaged = std::function<void(const Error&)>;
  Status for_each(const Visit& visit, const Damaged& damaged) const;

  const LocalHeap& heap() const { return heap_; }
  // The same table with the whole heap in memory: for callers that need most of its names.
  SymbolTable with_names() const {
    SymbolTable table = *this;
    table.heap_.load();
    return table;
  }

 private:
  SymbolTable(FileMetadataPtr file, std::uint64_t btree_address, LocalHeap heap)
      : file_(std::move(file)), btree_address_(btree_address), heap_(std::move(heap)) {}
  struct Walk;
  // `level`: the level that the node must have; nullopt for the root.
  Result<format::GroupBTree1Node> load_node(std::uint64_t address, std::optional<std::uint8_t> level) const;
  Result<format::GroupBTree1Node> load_child(std::uint64_t address, std::uint8_t parent_level) const;
  Result<std::vector<format::SymbolTableEntry>> load_symbols(std::uint64_t address) const;
  Result<std::size_t> child_for(const format::GroupBTree1Node& node, std::string_view name) const;
  Status check_order(const std::vector<std::uint64_t>& name_offsets, std::string_view structure) const;
  Status check_symbols(const std::vector<format::SymbolTableEntry>& symbols, std::uint64_t left,
                       std::uint64_t right) const;
  Status check_last_key(const format::GroupBTree1Node& node, std::uint64_t right_key) const;
  Status check_unused(const format::GroupBTree1Node& root) const;
  Result<std::vector<std::uint64_t>> load_unused(const format::GroupBTree1Node& root) const;
  Result<std::optional<format::SymbolTableEntry>> find_symbol(
      const std::vector<format::SymbolTableEntry>& symbols, std::string_view name) const;

  FileMetadataPtr file_;
  std::uint64_t btree_address_;
  LocalHeap heap_;
};

}  // namespace h5mount::metadata

// The links of an old group: a version 1 B-tree over symbol table nodes, names in a local heap (specification
// III.A.1, III.B, III.D).
//
// Neither nodes nor names have a checksum, so the order of the names is what shows damage: they ascend
// strictly, and the last name of a node is the key behind it. Groups of which that is not true are damaged;
// so are those whose root has a living entry behind the last one that it counts.
//
// A search reads one node a level and the few names it is compared with; one that finds nothing, all names of
// the nodes on its way. Threads: const functions from any thread.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "h5mount/format/symbol_table.h"
#include "h5mount/metadata/local_heap.h"

namespace h5mount::metadata {

class SymbolTable {
 public:
  // Nothing but the heap's header is read.
  static Result<SymbolTable> open(FileMetadataPtr file, std::uint64_t btree_address,
                                  std::uint64_t heap_address);

  // The entry of exactly that name; nothing where there is none. InvalidValue where it was not found in nodes
  // whose names are out of order: it may be elsewhere.
  Result<std::optional<format::SymbolTableEntry>> find(std::string_view name) const;

  // Every entry whose name can be read, in the order of the tree; `visit` returns false to stop. What cannot
  // be read, and names out of order, are reported to `damaged` (which may be null) and hide only what is in
  // them; the status is an error where not even the root can be read.
  using Visit = std::function<bool(std::string&& name, const format::SymbolTableEntry& entry)>;
  using Damaged = std::function<void(const Error&)>;
  Status for_each(const Visit& visit, const Damaged& damaged) const;

  const LocalHeap& heap() const { return heap_; }
  // The same with the whole heap in memory: for who will want most of its names.
  SymbolTable with_names() const {
    SymbolTable table = *this;
    table.heap_.load();
    return table;
  }

 private:
  SymbolTable(FileMetadataPtr file, std::uint64_t btree_address, LocalHeap heap)
      : file_(std::move(file)), btree_address_(btree_address), heap_(std::move(heap)) {}
  struct Walk;
  // `level`: that the node must have; nothing for the root.
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

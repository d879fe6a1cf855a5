// The links of an old group: a version 1 B-tree over symbol table nodes, names in a local heap (specification III.A.1,
// III.B, III.D).
//
// A search reads one node a level and the few names it is compared with. Threads: const functions from any thread.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "h5mount/format/symbol_table.h"
#include "h5mount/metadata/local_heap.h"

namespace h5mount {

class SymbolTable {
 public:
  // Nothing but the heap's header is read.
  static Result<SymbolTable> open(FileMetadataPtr file, std::uint64_t btree_address, std::uint64_t heap_address);

  // The entry of exactly that name; nothing where there is none.
  Result<std::optional<SymbolTableEntry>> find(std::string_view name) const;

  // Every entry in the order of names; `visit` returns false to stop. A node below the root that cannot be read is
  // told to `damaged` and hides only what is in it.
  using Visit = std::function<bool(const SymbolTableEntry& entry)>;
  using Damaged = std::function<void(const Error&)>;
  Status for_each(const Visit& visit, const Damaged& damaged) const;

  const LocalHeap& heap() const { return heap_; }

 private:
  SymbolTable(FileMetadataPtr file, std::uint64_t btree_address, LocalHeap heap)
      : file_(std::move(file)), btree_address_(btree_address), heap_(std::move(heap)) {}
  struct Walk;
  // `level`: that the node must have; nothing for the root.
  Result<GroupBTree1Node> load_node(std::uint64_t address, std::optional<std::uint8_t> level) const;
  Result<GroupBTree1Node> load_child(std::uint64_t address, std::uint8_t parent_level) const;
  Result<std::vector<SymbolTableEntry>> load_symbols(std::uint64_t address) const;
  Result<std::size_t> child_for(const GroupBTree1Node& node, std::string_view name) const;
  Result<std::optional<SymbolTableEntry>> find_symbol(const std::vector<SymbolTableEntry>& symbols,
                                                      std::string_view name) const;

  FileMetadataPtr file_;
  std::uint64_t btree_address_;
  LocalHeap heap_;
};

}  // namespace h5mount

#include "h5mount/metadata/symbol_table.h"

#include <algorithm>

#include "h5mount/base/structures.h"
#include "h5mount/format/superblock.h"
#include "walk_guard.h"

namespace h5mount::metadata {

namespace {

constexpr std::string_view kTree = structures::kGroupBTree1Node;
constexpr std::string_view kSymbols = structures::kSymbolTableNode;

// The largest number of children of a node: from the superblock's K, or if that is 0, the largest number that
// the 16-bit count can hold.
std::uint64_t most_entries(std::uint16_t k) {
  return k == 0 ? 65'535 : 2 * std::uint64_t{k};
}

// The number of a node's entries that are read at once: the default number, so most nodes need one read.
constexpr std::uint64_t kUsualTreeEntries = 32;
constexpr std::uint64_t kUsualSymbolEntries = 8;

// Reads the node at `address` with as many entries as the count in its first bytes states, cut to the end of
// the file. The first read assumes `usual` entries.
template <class Count, class Bytes>
Result<MetadataBlock> read_counted(const FileMetadata& file, std::uint64_t address, std::uint64_t usual,
                                   std::string_view name, const Count& count, const Bytes& bytes) {
  H5_ASSIGN(MetadataBlock block, file.read_up_to(address, bytes(file.sizes(), usual), name));
  format::Cursor cursor = block.cursor(name);
  H5_ASSIGN(const std::uint16_t entries, count(cursor));
  const std::uint64_t needed = bytes(file.sizes(), entries);
  if (needed <= block.bytes().size()) return block;
  return file.read_up_to(address, needed, name);
}

// The size of the node with one entry more than it uses: a wrong count may have excluded a valid entry.
std::uint64_t with_first_unused(format::FileSizes sizes, std::uint64_t entries) {
  return format::group_btree1_node_bytes(sizes, entries + 1);
}

}  // namespace

Result<SymbolTable> SymbolTable::open(FileMetadataPtr file, std::uint64_t btree_address,
                                      std::uint64_t heap_address) {
  H5_ASSIGN(LocalHeap heap, LocalHeap::open(file, heap_address));
  return SymbolTable(std::move(file), btree_address, std::move(heap));
}

Result<format::GroupBTree1Node> SymbolTable::load_node(std::uint64_t address,
                                                       std::optional<std::uint8_t> level) const {
  H5_ASSIGN(const MetadataBlock block, read_counted(*file_, address, kUsualTreeEntries, kTree,
                                                    format::decode_group_btree1_entries, with_first_unused));
  const std::uint64_t most = most_entries(file_->superblock().k.group_internal);
  file_->covers(address, format::group_btree1_node_bytes(file_->sizes(), most));
  format::Cursor cursor = block.cursor(kTree);
  return format::decode_group_btree1_node(cursor, most, level);
}

// The level is one lower than the parent's, so every path down ends.
Result<format::GroupBTree1Node> SymbolTable::load_child(std::uint64_t address,
                                                        std::uint8_t parent_level) const {
  return load_node(address, static_cast<std::uint8_t>(parent_level - 1));
}

Result<std::vector<format::SymbolTableEntry>> SymbolTable::load_symbols(std::uint64_t address) const {
  H5_ASSIGN(const MetadataBlock block,
            read_counted(*file_, address, kUsualSymbolEntries, kSymbols,
                         format::decode_symbol_table_node_entries, format::symbol_table_node_bytes));
  const std::uint64_t most = most_entries(file_->superblock().k.group_leaf);
  format::Cursor cursor = block.cursor(kSymbols);
  auto node = format::decode_symbol_table_node(cursor, most);
  // Also what is no node is tried, where entries that are not used seem to lead to one.
  if (node) file_->covers(address, format::symbol_table_node_bytes(file_->sizes(), most));
  return node;
}

// ---- search

// The child whose range of keys contains `name`: the first whose right key is not less; children.size() if
// there is none.
Result<std::size_t> SymbolTable::child_for(const format::GroupBTree1Node& node, std::string_view name) const {
  std::size_t low = 0, high = node.children.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    H5_ASSIGN(const std::string right, heap_.text(node.keys[middle + 1]));
    if (right < name)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

Result<std::optional<format::SymbolTableEntry>> SymbolTable::find_symbol(
    const std::vector<format::SymbolTableEntry>& symbols, std::string_view name) const {
  std::size_t low = 0, high = symbols.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    H5_ASSIGN(const std::string found, heap_.text(symbols[middle].name_offset));
    const int order = name.compare(found);
    if (order == 0) return symbols[middle];
    if (order > 0)
      low = middle + 1;
    else
      high = middle;
  }
  return std::nullopt;
}

namespace {

Error out_of_order(std::string_view structure, std::uint64_t offset) {
  return Error(ErrorCode::InvalidValue, structure, "link_name", offset)
      .with_detail("the name is out of order: it, its node or the tree above is damaged");
}

Error too_few_entries(const format::GroupBTree1Node& node) {
  const format::Field& field = node.entries_used;
  return Error(ErrorCode::InvalidValue, kTree, field.name, field.offset)
      .with_found(field.value)
      .with_detail("names after the node's last entry are missing");
}

}  // namespace

// In files of libhdf5 before 1.8, deleted entries remain there too, but their names are in free blocks of the
// heap, or not above the last key (docs/format-notes.md, 'Group nodes').
Status SymbolTable::check_unused(const format::GroupBTree1Node& root) const {
  if (!root.unused) return {};
  auto names = load_unused(root);
  if (!names) return is_momentary(names.error()) ? Status(fail(names.error())) : Status();
  std::ranges::sort(*names);
  for (const LocalHeap::FreeBlock& block : heap_.free_blocks()) {
    const auto name = std::ranges::lower_bound(*names, block.offset);
    if (name != names->end() && *name - block.offset < block.size) return {};
  }
  return fail(too_few_entries(root));
}

// The name offsets of the first unused entry; an error if it is not a valid successor of the last entry.
Result<std::vector<std::uint64_t>> SymbolTable::load_unused(const format::GroupBTree1Node& root) const {
  const std::uint64_t left = root.keys.back(), right = root.unused->key;
  std::vector<std::uint64_t> names;
  if (root.level == 0) {
    H5_ASSIGN(const auto symbols, load_symbols(root.unused->child));
    H5_TRY(check_symbols(symbols, left, right));
    for (const format::SymbolTableEntry& entry : symbols) names.push_back(entry.name_offset);
    return names;
  }
  H5_ASSIGN(const format::GroupBTree1Node node, load_child(root.unused->child, root.level));
  H5_TRY(check_order(node.keys, kTree));
  if (node.keys.front() != left || node.keys.back() != right) return fail(out_of_order(kTree, left));
  names.assign(node.keys.begin() + 1, node.keys.end());
  return names;
}

Status SymbolTable::check_order(const std::vector<std::uint64_t>& name_offsets,
                                std::string_view structure) const {
  std::optional<std::string> before;
  for (const std::uint64_t offset : name_offsets) {
    H5_ASSIGN(std::string name, heap_.text(offset));
    if (before && *before >= name) return fail(out_of_order(structure, heap_.file_offset(offset)));
    before = std::move(name);
  }
  return {};
}

// The names must ascend, be greater than the left key, and end with the right key. Offset 0 is the empty name
// at the start of every heap, which is not greater than itself, so it is not compared as a left key.
Status SymbolTable::check_symbols(const std::vector<format::SymbolTableEntry>& symbols, std::uint64_t left,
                                  std::uint64_t right) const {
  if (symbols.empty()) return fail(out_of_order(kSymbols, heap_.file_offset(right)));
  std::vector<std::uint64_t> offsets;
  if (left != 0) offsets.push_back(left);
  for (const format::SymbolTableEntry& entry : symbols) offsets.push_back(entry.name_offset);
  if (offsets.back() != right) offsets.push_back(right);
  H5_TRY(check_order(offsets, kSymbols));
  if (symbols.back().name_offset == right) return {};
  return fail(out_of_order(kSymbols, heap_.file_offset(right)));
}

// A node's last key equals the key after it in its parent, but the heap may hold that name twice.
Status SymbolTable::check_last_key(const format::GroupBTree1Node& node, std::uint64_t right_key) const {
  H5_ASSIGN(const std::string last, heap_.text(node.keys.back()));
  H5_ASSIGN(const std::string bound, heap_.text(right_key));
  if (last == bound) return {};
  return fail(too_few_entries(node));
}

Result<std::optional<format::SymbolTableEntry>> SymbolTable::find(std::string_view name) const {
  H5_ASSIGN(format::GroupBTree1Node node, load_node(btree_address_, std::nullopt));
  for (bool root = true;; root = false) {
    H5_ASSIGN(const std::size_t i, child_for(node, name));
    if (i == node.children.size()) {
      H5_TRY(check_order(node.keys, kTree));
      // According to the key in the parent, the name would be below this node.
      if (!root) return fail(too_few_entries(node));
      if (node.unused) H5_TRY(with_names().check_unused(node));
      return std::nullopt;
    }
    if (node.level == 0) {
      H5_ASSIGN(const auto symbols, load_symbols(node.children[i]));
      H5_ASSIGN(const auto found, find_symbol(symbols, name));
      if (found) return found;
      H5_TRY(check_symbols(symbols, node.keys[i], node.keys[i + 1]));
      return std::nullopt;
    }
    H5_ASSIGN(node, load_child(node.children[i], node.level));
  }
}

// ---- walk

struct SymbolTable::Walk {
  struct Step {
    format::GroupBTree1Node node;
    std::size_t next = 0;
  };
  const SymbolTable& table;
  const Visit* visit;      // both functions must outlive the walk
  const Damaged* damaged;  // may be an empty function
  WalkGuard guard;
  std::vector<Step> steps;
  std::optional<std::string> before = {};  // the name visited last
  bool stopped = false;

  void note_status(const Status& status) const {
    if (!status) note(status.error());
  }
  void note(const Error& error) const {
    if (*damaged) (*damaged)(error);
  }

  // Reads the next child of the last step and visits its symbols, or pushes it as a step.
  Status step_down() {
    Step& step = steps.back();
    const std::uint64_t address = step.node.children[step.next++];
    const std::uint8_t level = step.node.level;
    if (level == 0) return visit_symbols(address, step.node.keys[step.next]);
    H5_TRY(guard.enter(address, 0, kTree));
    const std::uint64_t right_key = step.node.keys[step.next];
    H5_ASSIGN(format::GroupBTree1Node node, table.load_child(address, level));
    if (node.keys.back() != right_key) note_status(table.check_last_key(node, right_key));
    H5_TRY(guard.charge(address, format::group_btree1_node_bytes(table.file_->sizes(), node.children.size()),
                        kTree));
    steps.push_back({std::move(node), 0});
    return {};
  }

  Status visit_symbols(std::uint64_t address, std::uint64_t right_key) {
    H5_TRY(guard.enter(address, 0, kSymbols));
    H5_ASSIGN(const auto symbols, table.load_symbols(address));
    H5_TRY(guard.charge(address, format::symbol_table_node_bytes(table.file_->sizes(), symbols.size()),
                        kSymbols));
    for (const format::SymbolTableEntry& entry : symbols) {
      visit_symbol(entry);
      if (stopped) return {};
    }
    if (symbols.empty() || symbols.back().name_offset != right_key) return check_last(right_key);
    return {};
  }

  void visit_symbol(const format::SymbolTableEntry& entry) {
    Result<std::string> name = table.heap_.text(entry.name_offset);
    if (!name) return note(name.error());
    if (before && *before >= *name) note(out_of_order(kSymbols, table.heap_.file_offset(entry.name_offset)));
    before = *name;
    stopped = !(*visit)(*std::move(name), entry);
  }

  // The last name of a node equals the key after it, but the heap may hold that name twice.
  Status check_last(std::uint64_t right_key) const {
    H5_ASSIGN(const std::string bound, table.heap_.text(right_key));
    if (before == bound) return {};
    return fail(
        Error(ErrorCode::InvalidValue, kSymbols, "link_name", table.heap_.file_offset(right_key))
            .with_detail("the last name of a node is not the key after it: names are missing or changed"));
  }
};

Status SymbolTable::for_each(const Visit& visit, const Damaged& damaged) const {
  Walk walk{*this, &visit, &damaged, WalkGuard(*file_), {}};
  H5_TRY(walk.guard.enter(btree_address_, 0, kTree));
  H5_ASSIGN(format::GroupBTree1Node root, load_node(btree_address_, std::nullopt));
  walk.note_status(check_unused(root));
  walk.steps.push_back({std::move(root), 0});
  while (!walk.steps.empty() && !walk.stopped) {
    if (walk.steps.back().next == walk.steps.back().node.children.size()) {
      walk.steps.pop_back();
      continue;
    }
    walk.note_status(walk.step_down());
  }
  return {};
}

}  // namespace h5mount::metadata

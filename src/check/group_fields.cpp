// Old groups: their B-tree, symbol table nodes and local heap.
#include <algorithm>
#include <map>

#include "fields.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/superblock.h"
#include "h5mount/format/symbol_table.h"
#include "h5mount/metadata/local_heap.h"

namespace h5mount::check {

namespace {

constexpr std::string_view kTree = structures::kGroupBTree1Node, kSymbols = structures::kSymbolTableNode,
                           kHeap = structures::kLocalHeap;
constexpr std::string_view kSegment = structures::kLocalHeapDataSegment;
constexpr std::uint64_t kAlignment = 8;
constexpr std::uint32_t kGroupCached = 1, kSoftLink = 2;

std::optional<format::SymbolTableMessage> table_of(const Context& context, std::uint64_t group) {
  const auto header = metadata::load_object_header(*context.metadata, group);
  if (!header) return std::nullopt;
  const auto* message = (*header)->find(format::MessageType::SymbolTable);
  if (message == nullptr || message->is_shared()) return std::nullopt;
  format::Cursor cursor = message->cursor(structures::kSymbolTableMessage);
  const auto table = format::decode_symbol_table_message(cursor);
  return table ? std::optional(*table) : std::nullopt;
}

class GroupFields {
 public:
  GroupFields(const Context& context, PlaceId place, std::uint64_t heap_address)
      : context_(context), place_(place) {
    if (auto heap = metadata::LocalHeap::open(context.metadata, heap_address)) {
      heap_ = *std::move(heap);
      heap_->load();
    }
  }

  void check_heap(std::uint64_t address) {
    const format::FileSizes sizes = context_.metadata->sizes();
    const std::uint64_t bytes = format::local_heap_header_bytes(sizes);
    const auto block = take_structure(context_, address, bytes, kHeap);
    if (!block) return;
    Fields heap(context_, place_, block->cursor(kHeap));
    heap.signature();
    heap.u8("version");
    heap.zeros(3, "reserved");
    const std::uint64_t size = heap.plain_length("segment_size");
    const format::Field size_field = heap.last();
    const std::uint64_t head = heap.plain_length("free_list_head");
    const format::Field head_field = heap.last();
    const std::uint64_t segment = heap.address("segment_address");
    heap.want(range_within(segment, 0, context_.stored_end), kBehindEnd);
    heap.want(segment >= address + bytes || checked_add(segment, size).value_or(segment) <= address,
              "overlaps the heap's own header");
    if (range_within(segment, 0, context_.stored_end))
      heap.want(range_within(segment, size, context_.stored_end), size_field,
                "reaches behind the end of the file");
    if (is_none(head, sizes)) return;
    if (!heap.want(head % kAlignment == 0 && range_within(head, 2ULL * sizes.lengths, size), head_field,
                   "is no place of a free block in the data segment"))
      return;
    check_free_blocks(segment, size, head);
  }

  // All nodes of the tree, a level at a time.
  void check_tree(std::uint64_t root) {
    std::vector<Child> level{{root, {}, {}, true}};
    std::optional<std::uint8_t> height;
    while (!level.empty() && context_.tally.go_on()) {
      std::vector<Child> below;
      for (std::size_t i = 0; i < level.size(); ++i) {
        const std::uint64_t left = i == 0 ? format::kUndefinedAddress : level[i - 1].address;
        const std::uint64_t right = i + 1 == level.size() ? format::kUndefinedAddress : level[i + 1].address;
        check_node(level[i], left, right, height, below);
      }
      if (!height || *height == 0) {
        for (const Child& symbols : below) check_symbols(symbols);
        return;
      }
      height = static_cast<std::uint8_t>(*height - 1);
      level = std::move(below);
    }
  }

 private:
  struct Child {
    std::uint64_t address = 0;
    format::Field left, right;  // the keys around it
    bool root = false;
  };

  static bool is_none(std::uint64_t head, format::FileSizes sizes) {
    const std::uint64_t undefined = ~std::uint64_t{0} >> (64 - 8 * std::min<unsigned>(sizes.lengths, 8));
    return head == 1 || head == undefined;
  }

  void check_free_blocks(std::uint64_t segment, std::uint64_t size, std::uint64_t head) {
    const format::FileSizes sizes = context_.metadata->sizes();
    const std::uint64_t fields = 2ULL * sizes.lengths;
    for (std::uint64_t at = head, left = size; !is_none(at, sizes);) {
      const auto block = context_.metadata->read_up_to(segment + at, fields, kSegment);
      if (!block || block->bytes().size() < fields) return;
      Fields free(context_, place_, block->cursor(kSegment));
      const std::uint64_t next = free.plain_length("next_free_block");
      const bool sound =
          free.want(is_none(next, sizes) || (next % kAlignment == 0 && range_within(next, fields, size)),
                    "is no place of a free block in the data segment");
      const std::uint64_t bytes = free.plain_length("free_block_size");
      if (!free.want(bytes >= fields && range_within(at, bytes, size) && bytes <= left,
                     "does not fit in the data segment"))
        return;
      const auto behind = free_.lower_bound(at);
      const bool apart =
          (behind == free_.end() || behind->first >= at + bytes) &&
          (behind == free_.begin() || std::prev(behind)->first + std::prev(behind)->second <= at);
      if (!free.want(apart, "overlaps another free block")) return;
      free_.emplace(at, bytes);
      left -= bytes;
      if (!sound) return;
      at = next;
    }
  }

  // The name at an offset that a field holds; nullopt if there is none, which is told.
  std::optional<std::string> name_at(Fields& fields, const format::Field& offset) {
    if (!heap_) return std::nullopt;
    if (!fields.want(offset.value < heap_->segment_size(), offset, "lies behind the heap's data segment"))
      return std::nullopt;
    if (!fields.want(offset.value % kAlignment == 0, offset, "is no multiple of 8")) return std::nullopt;
    const auto behind = free_.upper_bound(offset.value);
    const bool used =
        behind == free_.begin() || offset.value - std::prev(behind)->first >= std::prev(behind)->second;
    if (!fields.want(used, offset, "lies in a free block of the heap")) return std::nullopt;
    auto name = heap_->text(offset.value);
    return name ? std::optional(*std::move(name)) : std::nullopt;
  }

  // A node's space is that of a full one.
  bool check_extent(std::uint64_t address, std::uint64_t bytes, std::string_view structure,
                    std::string_view k_name, std::uint64_t k_at) {
    if (range_within(address, bytes, context_.stored_end) || address >= context_.stored_end) return true;
    const bool old = context_.metadata->superblock().version < 2;
    const std::uint64_t base = context_.metadata->base_address();
    context_.disagrees(place_, Error(ErrorCode::InvalidValue, old ? structures::kSuperblock : structure,
                                     k_name, old ? base + k_at : base + address)
                                   .with_found(bytes)
                                   .with_detail("a node of this many bytes reaches behind the file's end"));
    return false;
  }

  void check_node(const Child& child, std::uint64_t left, std::uint64_t right,
                  std::optional<std::uint8_t>& height, std::vector<Child>& below) {
    constexpr std::uint64_t kInternalKAt = 18;
    const format::FileSizes sizes = context_.metadata->sizes();
    const std::uint64_t most = 2ULL * context_.metadata->superblock().k.group_internal;
    const std::uint64_t bytes = format::group_btree1_node_bytes(sizes, most);
    if (!check_extent(child.address, bytes, kTree, "group_internal_k", kInternalKAt)) return;
    const auto block = take_structure(context_, child.address, bytes, kTree);
    if (!block) return;
    Fields node(context_, place_, block->cursor(kTree));
    node.signature();
    node.u8("node_type");
    const std::uint8_t level = node.u8("node_level");
    if (!height) height = level;
    const std::uint16_t entries = node.u16("entries_used");
    if (level != *height || entries > most) return;
    node.want(entries > 0 || child.root, "a node below the root is empty");
    node.address("left_sibling_address");
    node.want_equal(left, "is not the node before this one");
    node.address("right_sibling_address");
    node.want_equal(right, "is not the node behind this one");
    check_entries(node, child, entries, below);
    if (node.remaining() > 0) node.bytes(node.remaining(), "unused");
  }

  void check_entries(Fields& node, const Child& child, std::uint16_t entries, std::vector<Child>& below) {
    std::optional<std::string> before;
    const auto take_key = [&](bool last) {
      node.plain_length("key");
      const format::Field key = node.last();
      const auto name = name_at(node, key);
      if (name && before) node.want(*before < *name, key, "its name is not above the key's before it");
      if (name && last && child.right.value != key.value) {
        const auto above = heap_->text(child.right.value);
        if (!child.root && above) node.want(*above == *name, key, "is not what the parent says of this node");
      }
      if (name) before = name;
      return key;
    };
    format::Field left = take_key(false);
    for (std::uint16_t i = 0; i < entries && node.ok(); ++i) {
      const std::uint64_t address = node.address("child_address");
      node.want(range_within(address, 8, context_.stored_end), kBehindEnd);
      const format::Field right = take_key(i + 1 == entries);
      below.push_back({address, left, right, false});
      left = right;
    }
  }

  void check_symbols(const Child& child) {
    constexpr std::uint64_t kLeafKAt = 16;
    const format::FileSizes sizes = context_.metadata->sizes();
    const std::uint64_t most = 2ULL * context_.metadata->superblock().k.group_leaf;
    const std::uint64_t bytes = format::symbol_table_node_bytes(sizes, most);
    if (!check_extent(child.address, bytes, kSymbols, "group_leaf_k", kLeafKAt)) return;
    const auto block = take_structure(context_, child.address, bytes, kSymbols);
    if (!block) return;
    Fields node(context_, place_, block->cursor(kSymbols));
    node.signature();
    node.u8("version");
    node.zeros(1, "reserved");
    const std::uint16_t count = node.u16("symbol_count");
    if (count > most) return;
    node.want(count > 0, "a node is empty");
    std::optional<std::string> name;
    for (std::uint16_t i = 0; i < count && node.ok(); ++i) name = check_entry(node);
    const auto bound = heap_ ? heap_->text(child.right.value) : Result<std::string>(std::string());
    if (name && bound && *name != *bound && child.right.offset != 0)
      context_.disagrees(place_, Error(ErrorCode::InvalidValue, kTree, "key", child.right.offset)
                                     .with_found(child.right.value)
                                     .with_detail("is not the last name of the node before it"));
    if (node.remaining() > 0) node.bytes(node.remaining(), "unused");
  }

  std::optional<std::string> check_entry(Fields& node) {
    node.plain_length("link_name_offset");
    const format::Field offset = node.last();
    auto name = name_at(node, offset);
    if (name) node.want(!name->empty(), offset, "leads to an empty name");
    const std::uint64_t address = node.address("object_header_address");
    const format::Field header = node.last();
    const std::uint32_t type = node.u32("cache_type");
    const format::Field cache_type = node.last();
    node.want(type <= kSoftLink, "is not 0, 1 or 2");
    node.want(type == kSoftLink ? address == format::kUndefinedAddress
                                : range_within(address, 8, context_.stored_end),
              header, type == kSoftLink ? std::string_view("a soft link has no object") : kBehindEnd);
    node.zeros(4, "reserved");
    // A group that got links in its header since is still cached as the old one that it was.
    const auto kind = object::peek_object_kind(*context_.metadata, address);
    if (type == kGroupCached)
      node.want(!kind || *kind == object::ObjectKind::Group, cache_type, "is that of a group");
    if (type == kSoftLink && heap_) {
      const std::uint64_t target = node.u32("scratch_pad");
      node.want(target < heap_->segment_size(), "lies behind the heap's data segment");
      node.want(target % kAlignment == 0, "is no multiple of 8");
      node.bytes(12, "scratch_pad.unused");
    } else {
      check_scratch_fields(node, type, address, false);
    }
    return name;
  }

  const Context& context_;
  const PlaceId place_;
  std::optional<metadata::LocalHeap> heap_;
  std::map<std::uint64_t, std::uint64_t> free_;  // free blocks of the heap: offset and size
};

}  // namespace

void check_scratch_fields(Fields& entry, std::uint32_t type, std::uint64_t group, bool of_root) {
  constexpr std::size_t kScratch = 16;
  if (type != kGroupCached || entry.sizes().offsets > kScratch / 2) {
    entry.bytes(kScratch, of_root ? "root.scratch_pad.unused" : "scratch_pad.unused");
    return;
  }
  const auto table = table_of(entry.context(), group);
  const std::uint64_t btree = entry.address(of_root ? "root.btree_address" : "btree_address");
  if (table) entry.want_equal(table->btree_address, "is not what the group's own header says");
  const std::uint64_t heap = entry.address(of_root ? "root.local_heap_address" : "local_heap_address");
  if (table) entry.want_equal(table->local_heap_address, "is not what the group's own header says");
  (void)btree, (void)heap;
  const std::size_t left = kScratch - 2ULL * std::min<std::size_t>(entry.sizes().offsets, 8);
  if (left > 0) entry.bytes(left, of_root ? "root.scratch_pad.unused" : "scratch_pad.unused");
}

void check_old_group_fields(const Context& context, PlaceId place, std::uint64_t btree, std::uint64_t heap) {
  GroupFields group(context, place, heap);
  group.check_heap(heap);
  group.check_tree(btree);
}

void check_name_heap_fields(const Context& context, PlaceId place, std::uint64_t heap) {
  GroupFields(context, place, heap).check_heap(heap);
}

}  // namespace h5mount::check

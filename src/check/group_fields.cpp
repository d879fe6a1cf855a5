// Old groups: their B-tree, symbol table nodes and local heap.
#include <algorithm>

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

std::optional<format::SymbolTableMessage> table_of(const Subject& subject, std::uint64_t group) {
  const auto header = metadata::load_object_header(subject.file(), group);
  if (!header) return std::nullopt;
  const auto* message = (*header)->find(format::MessageType::SymbolTable);
  if (message == nullptr || message->is_shared()) return std::nullopt;
  format::Cursor cursor = message->cursor(structures::kSymbolTableMessage);
  const auto table = format::decode_symbol_table_message(cursor);
  return table ? std::optional(*table) : std::nullopt;
}

class GroupFields {
 public:
  GroupFields(const Subject& subject, std::uint64_t heap_address) : subject_(subject) {
    if (auto heap = metadata::LocalHeap::open(subject.context->metadata, heap_address)) {
      heap_ = *std::move(heap);
      heap_->load();
    }
  }

  void check_heap(std::uint64_t address) {
    const std::uint64_t bytes = format::local_heap_header_bytes(sizes_);
    auto heap = subject_.take(address, bytes, kHeap);
    if (!heap) return;
    heap->begin({"version"});
    heap->zeros(3, "reserved");
    const Field size = heap->plain_length("segment_size"), head = heap->plain_length("free_list_head");
    const Field segment = heap->address("segment_address");
    const bool there = segment.want_defined(0);
    segment.want(segment >= address + bytes || checked_add(segment, size).value_or(segment) <= address,
                 "overlaps the heap's own header");
    if (there) size.want(range_within(segment, size, subject_.stored_end()), kReachesBehindEnd);
    if (is_none(head)) return;
    if (head.want(is_free_block(head, size), "is no place of a free block in the data segment"))
      check_free_blocks(segment, size, head);
  }

  void check_tree(std::uint64_t root) {
    const format::BTreeKValues& k = subject_.file().superblock().k;
    const std::uint64_t most = 2ULL * k.group_internal;
    const Tree1 tree{root, format::group_btree1_node_bytes(sizes_, most), most, kTree};
    constexpr std::uint64_t kInternalKAt = 18;
    const auto fits = [&](std::uint64_t node) {
      check_extent(node, tree.node_bytes, kTree, "group_internal_k", kInternalKAt);
    };
    fits(root);
    const auto check = [&](Fields& fields, const Tree1Node& node, std::vector<Tree1Child>& below) {
      node.children.want(node.children > 0 || node.root, "a node below the root is empty");
      const std::size_t before = below.size();
      check_children(fields, node, below);
      for (std::size_t i = before; i < below.size() && node.level > 0; ++i) fits(below[i].address);
    };
    for (const Tree1Child& symbols : check_btree1_fields(subject_, tree, check))
      check_symbols(symbols, 2ULL * k.group_leaf);
  }

 private:
  bool is_none(std::uint64_t head) const {
    return head == 1 || head == ~std::uint64_t{0} >> (64 - 8 * std::min<unsigned>(sizes_.lengths, 8));
  }
  bool is_free_block(std::uint64_t at, std::uint64_t segment_size) const {
    return at % kAlignment == 0 && range_within(at, 2ULL * sizes_.lengths, segment_size);
  }

  void check_free_blocks(std::uint64_t segment, std::uint64_t size, std::uint64_t head) {
    const std::uint64_t fields = 2ULL * sizes_.lengths;
    for (std::uint64_t at = head, left = size; !is_none(at);) {
      auto block = subject_.file().read_up_to(segment + at, fields, kSegment);
      if (!block || block->bytes().size() < fields) return;
      Fields free(subject_, *std::move(block), kSegment);
      const Field next = free.plain_length("next_free_block");
      const bool sound = next.want(is_none(next) || is_free_block(next, size),
                                   "is no place of a free block in the data segment");
      const Field bytes = free.plain_length("free_block_size");
      if (!bytes.want(bytes >= fields && range_within(at, bytes, size) && bytes <= left,
                      "does not fit in the data segment") ||
          !bytes.want(free_.add(at, bytes), "overlaps another free block") || !sound)
        return;
      left -= bytes;
      at = next;
    }
  }

  // The name at an offset that a field holds; nullopt if there is none, which is told.
  std::optional<std::string> name_at(const Field& offset) {
    if (!heap_ || !offset.want(offset < heap_->segment_size(), "lies behind the heap's data segment") ||
        !offset.want(offset % kAlignment == 0, "is no multiple of 8") ||
        !offset.want(!free_.contains(offset), "lies in a free block of the heap"))
      return std::nullopt;
    auto name = heap_->text(offset);
    return name ? std::optional(*std::move(name)) : std::nullopt;
  }

  // A node's space is that of a full one.
  void check_extent(std::uint64_t address, std::uint64_t bytes, std::string_view structure,
                    std::string_view k_name, std::uint64_t k_at) {
    if (range_within(address, bytes, subject_.stored_end()) || address >= subject_.stored_end()) return;
    const bool old = subject_.file().superblock().version < 2;
    const std::uint64_t at = subject_.file().base_address() + (old ? k_at : address);
    const Field k{{k_name, at, bytes}, subject_, old ? structures::kSuperblock : structure, true};
    k.want(false, "a node of this many bytes reaches behind the file's end");
  }

  void check_children(Fields& node, const Tree1Node& parent, std::vector<Tree1Child>& below) {
    std::optional<std::string> before;
    const auto take_key = [&](bool last) {
      const Field key = node.plain_length("key");
      const auto name = name_at(key);
      if (name && before) key.want(*before < *name, "its name is not above the key's before it");
      if (name && last && !parent.root && parent.child.key != key) {
        const auto above = heap_->text(parent.child.key);
        if (above) key.want(*above == *name, "is not what the parent says of this node");
      }
      if (name) before = name;
      return key;
    };
    take_key(false);
    for (std::uint64_t i = 0; i < parent.children && node.ok(); ++i) {
      const Field address = node.address("child_address");
      address.want_defined(8);
      const Field key = take_key(i + 1 == parent.children);
      below.push_back({address, key, key.offset});
    }
  }

  void check_symbols(const Tree1Child& child, std::uint64_t most) {
    constexpr std::uint64_t kLeafKAt = 16;
    const std::uint64_t bytes = format::symbol_table_node_bytes(sizes_, most);
    check_extent(child.address, bytes, kSymbols, "group_leaf_k", kLeafKAt);
    auto node = subject_.take(child.address, bytes, kSymbols);
    if (!node) return;
    node->begin({"version"});
    node->zeros(1, "reserved");
    const Field count = node->u16("symbol_count");
    if (count > most) return;
    count.want(count > 0, "a node is empty");
    std::optional<std::string> name;
    for (std::uint64_t i = 0; i < count && node->ok(); ++i) name = check_entry(*node);
    const auto bound = heap_ ? heap_->text(child.key) : Result<std::string>(std::string());
    const Field key{{"key", child.key_offset, child.key}, subject_, kTree, true};
    if (name && bound) key.want(*name == *bound, "is not the last name of the node before it");
    node->rest("unused");
  }

  std::optional<std::string> check_entry(Fields& node) {
    const Field offset = node.plain_length("link_name_offset");
    auto name = name_at(offset);
    if (name) offset.want(!name->empty(), "leads to an empty name");
    const Field address = node.address("object_header_address"), type = node.u32("cache_type");
    type.want(type <= kSoftLink, "is not 0, 1 or 2");
    if (type == kSoftLink)
      address.want(address == format::kUndefinedAddress, "a soft link has no object");
    else
      address.want_defined(8);
    node.zeros(4, "reserved");
    // A group that got links in its header since is still cached as the old one that it was.
    const auto kind = object::peek_object_kind(subject_.file(), address);
    if (type == kGroupCached) type.want(!kind || *kind == object::ObjectKind::Group, "is that of a group");
    if (type != kSoftLink || !heap_) {
      check_scratch_fields(node, type, address, false);
      return name;
    }
    const Field target = node.u32("scratch_pad");
    target.want(target < heap_->segment_size(), "lies behind the heap's data segment");
    target.want(target % kAlignment == 0, "is no multiple of 8");
    node.bytes(12, "scratch_pad.unused");
    return name;
  }

  const Subject& subject_;
  const format::FileSizes sizes_ = subject_.file().sizes();
  std::optional<metadata::LocalHeap> heap_;
  Ranges free_;  // blocks of the heap
};

}  // namespace

void check_scratch_fields(Fields& entry, std::uint64_t type, std::uint64_t group, bool of_root) {
  constexpr std::size_t kScratch = 16;
  const std::size_t offsets = entry.sizes().offsets;
  std::size_t left = kScratch;
  if (type == kGroupCached && offsets <= kScratch / 2) {
    const auto table = table_of(entry, group);
    const Field btree = entry.address(of_root ? "root.btree_address" : "btree_address");
    const Field heap = entry.address(of_root ? "root.local_heap_address" : "local_heap_address");
    if (table) btree.want_equal(table->btree_address, "is not what the group's own header says");
    if (table) heap.want_equal(table->local_heap_address, "is not what the group's own header says");
    left -= 2 * offsets;
  }
  entry.bytes(left, of_root ? "root.scratch_pad.unused" : "scratch_pad.unused");
}

void check_old_group_fields(const Subject& subject, std::uint64_t btree, std::uint64_t heap) {
  GroupFields group(subject, heap);
  group.check_heap(heap);
  group.check_tree(btree);
}

void check_name_heap_fields(const Subject& subject, std::uint64_t heap) {
  GroupFields(subject, heap).check_heap(heap);
}

}  // namespace h5mount::check

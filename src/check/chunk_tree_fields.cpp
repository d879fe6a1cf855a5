// Version 1 B-trees of chunks.
#include <algorithm>

#include "fields.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/chunk_btree1.h"
#include "h5mount/format/superblock.h"

namespace h5mount::check {

namespace {

constexpr std::string_view kChunkNode = structures::kChunkBTree1Node;

class ChunkTreeFields {
 public:
  ChunkTreeFields(const Context& context, PlaceId place, const ChunkForm& form)
      : context_(context), place_(place), form_(form) {}

  void run(std::uint64_t root) {
    std::vector<std::uint64_t> level{root};
    std::optional<std::uint8_t> height;
    while (!level.empty() && context_.tally.go_on()) {
      std::vector<std::uint64_t> below;
      for (std::size_t i = 0; i < level.size(); ++i) {
        left_ = i == 0 ? format::kUndefinedAddress : level[i - 1];
        right_ = i + 1 == level.size() ? format::kUndefinedAddress : level[i + 1];
        if (!check_node(level[i], height, below)) return;
      }
      if (!height || *height == 0) return;
      height = static_cast<std::uint8_t>(*height - 1);
      level = std::move(below);
    }
  }

 private:
  bool check_node(std::uint64_t address, std::optional<std::uint8_t>& height,
                  std::vector<std::uint64_t>& below) {
    const std::uint64_t most = 2ULL * context_.metadata->superblock().k.indexed_storage;
    const std::uint64_t bytes = format::chunk_btree1_node_bytes(context_.metadata->sizes(), form_.rank, most);
    const auto block = take_structure(context_, address, bytes, kChunkNode);
    if (!block) return false;
    Fields node(context_, place_, block->cursor(kChunkNode));
    node.signature();
    node.u8("node_type");
    const std::uint8_t level = node.u8("node_level");
    if (!height) height = level;
    const std::uint16_t entries = node.u16("entries_used");
    if (level != *height || entries > most) return false;
    node.address("left_sibling_address");
    node.want_equal(left_, "is not the node before this one");
    node.address("right_sibling_address");
    node.want_equal(right_, "is not the node behind this one");
    for (std::uint16_t i = 0; i < entries && node.ok(); ++i) check_entry(node, level, below);
    check_last_key(node);
    if (node.remaining() > 0) node.bytes(node.remaining(), "unused");
    return true;
  }

  void check_entry(Fields& node, std::uint8_t level, std::vector<std::uint64_t>& below) {
    const std::uint64_t bytes = node.u32("chunk_size");
    const format::Field size = node.last();
    if (form_.filters == 0)
      node.want_equal(form_.chunk_bytes, "is not the size of a chunk");
    else
      node.want(bytes > 0, "is zero");
    const std::uint64_t mask = node.u32("filter_mask");
    node.want(form_.filters >= 32 || mask >> form_.filters == 0, "is of filters that there are not");
    for (std::size_t d = 0; d < form_.rank; ++d) node.uint(8, "chunk_offset");
    node.uint(8, "element_offset");
    node.want_equal(0, "no chunk begins inside an element");
    const std::uint64_t child = node.address("child_address");
    node.want(child < context_.stored_end, kBehindEnd);
    if (level == 0) {
      if (child < context_.stored_end)
        node.want(range_within(child, bytes, context_.stored_end), size,
                  "reaches behind the end of the file");
    } else {
      below.push_back(child);
    }
  }

  // It lies behind all chunks of the node: readers compare it with what the parent says.
  void check_last_key(Fields& node) {
    node.u32("last_key_chunk_size");
    if (right_ == format::kUndefinedAddress) node.want_equal(0, "no chunk is behind the last node");
    node.u32("last_key_filter_mask");
    node.bytes(8 * form_.rank, "last_key");
    node.uint(8, "last_key_element_offset");
  }

  const Context& context_;
  const PlaceId place_;
  const ChunkForm& form_;
  std::uint64_t left_ = format::kUndefinedAddress, right_ = format::kUndefinedAddress;
};

}  // namespace

void check_chunk_tree_fields(const Context& context, PlaceId place, const ChunkForm& form,
                             std::uint64_t root) {
  ChunkTreeFields(context, place, form).run(root);
}

void check_chunk_records_fields(const Context& context, PlaceId place, const ChunkForm& form,
                                const format::DataLayout& layout) {
  if (form.structured) return;
  const auto type = static_cast<std::uint8_t>(form.filters > 0 ? 11 : 10);
  std::vector<std::uint64_t> before;
  check_btree2_fields(context, place, {layout.address, type, 0, "ChunkRecord"}, [&](Fields& record) {
    const std::size_t coordinates = 8 * form.rank;
    record.address("chunk_address");
    const format::Field address = record.last();
    std::uint64_t bytes = form.chunk_bytes;
    if (form.filters > 0 && record.remaining() > coordinates + 4) {
      bytes = record.uint(record.remaining() - coordinates - 4, "chunk_size");
      record.want(bytes > 0, "is zero");
      record.u32("filter_mask");
      record.want(form.filters >= 32 || record.last().value >> form.filters == 0,
                  "is of filters that there are not");
    }
    record.want_stored(address, bytes, "the chunk reaches behind the end of the file");
    std::vector<std::uint64_t> scaled;
    for (std::size_t d = 0; d < form.rank; ++d) scaled.push_back(record.uint(8, "scaled_offset"));
    record.want(before.empty() || scaled > before, "is not above that of the record before");
    before = std::move(scaled);
  });
}

}  // namespace h5mount::check

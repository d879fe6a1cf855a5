// Chunks, as their indexes have them, and B-trees of chunks.
#include "fields.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/chunk_btree1.h"
#include "h5mount/format/superblock.h"

namespace h5mount::check {

void ChunkForm::check(Fields& entry, std::size_t bytes) const {
  const std::size_t others = entry.sizes().offsets + 4U;
  const Field address = entry.address("chunk_address");
  std::uint64_t size = chunk_bytes;
  if (filters > 0 && bytes > others) {
    const Field stored = entry.uint(bytes - others, "chunk_size");
    if (address != format::kUndefinedAddress) stored.want_not_zero();
    entry.u32("filter_mask").want_filters(filters);
    size = stored;
  }
  address.want_stored(size, "the chunk reaches behind the end of the file");
}

void check_chunk_tree_fields(const Subject& subject, const ChunkForm& form,
                             const format::DataLayout& layout) {
  const std::uint64_t most = 2ULL * subject.file().superblock().k.indexed_storage;
  const std::uint64_t bytes = format::chunk_btree1_node_bytes(subject.file().sizes(), form.rank, most);
  const auto check_entry = [&](Fields& fields, const Tree1Node& node, std::vector<Tree1Child>& below) {
    const Field size = fields.u32("chunk_size");
    if (form.filters == 0)
      size.want_equal(form.chunk_bytes, "is not the size of a chunk");
    else
      size.want_not_zero();
    fields.u32("filter_mask").want_filters(form.filters);
    for (std::size_t d = 0; d < form.rank; ++d) fields.uint(8, "chunk_offset");
    fields.uint(8, "element_offset").want_equal(0, "no chunk begins inside an element");
    const Field child = fields.address("child_address");
    const bool there = child.want_defined();
    if (node.level > 0)
      below.push_back({.address = child});
    else if (there)
      size.want(range_within(child, size, subject.stored_end()), kReachesBehindEnd);
  };
  check_btree1_fields(subject, {layout.address, bytes, most, structures::kChunkBTree1Node},
                      [&](Fields& fields, const Tree1Node& node, std::vector<Tree1Child>& below) {
                        for (std::uint64_t i = 0; i < node.children && fields.ok(); ++i)
                          check_entry(fields, node, below);
                        // The last key lies behind all chunks of the node: readers compare it with what the
                        // parent says.
                        const Field size = fields.u32("last_key_chunk_size");
                        if (node.last) size.want_equal(0, "no chunk is behind the last node");
                        fields.u32("last_key_filter_mask");
                        fields.bytes(8 * form.rank, "last_key");
                        fields.uint(8, "last_key_element_offset");
                      });
}

void check_chunk_records_fields(const Subject& subject, const ChunkForm& form,
                                const format::DataLayout& layout) {
  const Tree2 tree{layout.address, static_cast<std::uint8_t>(form.filters > 0 ? 11 : 10), 0, "ChunkRecord"};
  std::vector<std::uint64_t> before;
  check_btree2_fields(subject, tree, [&](Fields& record) {
    form.check(record, record.remaining() - std::min(record.remaining(), 8 * form.rank));
    std::vector<std::uint64_t> scaled;
    for (std::size_t d = 0; d < form.rank; ++d) scaled.push_back(record.uint(8, "scaled_offset"));
    record.last().want(before.empty() || scaled > before, "is not above that of the record before");
    before = std::move(scaled);
  });
}

}  // namespace h5mount::check

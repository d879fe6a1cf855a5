#include <memory>

#include "h5mount/format/btree2_node.h"
#include "prefetch_parts.h"

namespace h5mount::metadata {
namespace {

using TreeHeader = std::shared_ptr<const format::BTree2Header>;

void expect_node(Levels& levels, const TreeHeader& header, const format::BTree2Child& child, unsigned level,
                 const OnRecord& on_record) {
  if (!format::check_btree2_child(*header, child, level)) return;
  const std::uint64_t bytes = format::btree2_node_bytes(*header, levels.sizes(), level, child.record_count);
  if (level == 0 && !on_record) return levels.expect(child.address, bytes, nullptr);
  levels.expect(
      child.address, bytes,
      [&levels, header, level, on_record, records = child.record_count](const MetadataBlock& block) {
        format::Cursor cursor = block.cursor(kReadAhead);
        const auto node = format::decode_btree2_node(cursor, *header, level, records);
        if (!node) return;
        for (const format::BTree2Child& below : node->children)
          expect_node(levels, header, below, level - 1, on_record);
        if (!on_record) return;
        for (std::uint64_t i = 0; i < records; ++i) {
          const std::size_t at = node->records_at + static_cast<std::size_t>(i) * header->record_size;
          on_record(format::Cursor(block.bytes().subspan(at, header->record_size), block.file_offset() + at,
                                   kReadAhead, levels.sizes()));
        }
      });
}

}  // namespace

void expect_btree2(Levels& levels, std::uint64_t address, OnRecord on_record) {
  levels.expect(address, format::btree2_header_bytes(levels.sizes()),
                [&levels, on_record = std::move(on_record)](const MetadataBlock& block) {
                  constexpr std::size_t kTypeAt = 5;  // after the signature and the version
                  if (block.bytes().size() <= kTypeAt) return;
                  format::Cursor cursor = block.cursor(kReadAhead);
                  auto decoded = format::decode_btree2_header(
                      cursor, {.type = std::to_integer<std::uint8_t>(block.bytes()[kTypeAt])});
                  if (!decoded) return;
                  const auto header = std::make_shared<const format::BTree2Header>(*std::move(decoded));
                  expect_node(levels, header, format::btree2_root(*header), header->depth, on_record);
                });
}

}  // namespace h5mount::metadata

// The fuzz target of the header messages and of the structures that are decoded from memory alone. The first
// byte selects the decoder, the second the sizes of offsets and lengths; the rest is the structure.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "h5mount/base/checksum.h"
#include "h5mount/format/btree2_node.h"
#include "h5mount/format/cache_image.h"
#include "h5mount/format/chunk_btree1.h"
#include "h5mount/format/data_layout.h"
#include "h5mount/format/dataspace.h"
#include "h5mount/format/datatype.h"
#include "h5mount/format/extensible_array.h"
#include "h5mount/format/filter_pipeline.h"
#include "h5mount/format/fixed_array.h"
#include "h5mount/format/fractal_heap_blocks.h"
#include "h5mount/format/free_space.h"
#include "h5mount/format/global_heap_format.h"
#include "h5mount/format/messages.h"
#include "h5mount/format/object_header_format.h"
#include "h5mount/format/selection.h"
#include "h5mount/format/shared_message_table.h"
#include "h5mount/format/superblock.h"
#include "h5mount/format/symbol_table.h"
#include "h5mount/format/virtual_mapping.h"
#include "h5mount/text/value_text.h"

namespace {

using namespace h5mount;
using namespace h5mount::format;
using text::datatype_text;
using Decoder = void (*)(Cursor&);

// A decoded type is also rendered as text, and the invariants that higher modules rely on are checked.
void datatype(Cursor& cursor) {
  const auto type = decode_datatype(cursor);
  if (!type) return;
  if ((*type)->size == 0) std::abort();
  for (const CompoundMember& member : (*type)->members)
    if (member.offset + std::uint64_t{member.type->size} > (*type)->size) std::abort();
  (void)datatype_text(**type);
}

// What follows a structure's header in the input is a block or node that the header describes.
Cursor following(Cursor& cursor) {
  return cursor.part(cursor.remaining(), "rest");
}

Cursor first(Cursor& cursor, std::uint64_t bytes) {
  return cursor.part(std::min<std::uint64_t>(bytes, cursor.remaining()), "header");
}

void btree2(Cursor& cursor) {
  Cursor head = first(cursor, btree2_header_bytes(cursor.sizes()));
  const auto header = decode_btree2_header(head, {.type = 5});
  if (!header) return;
  Cursor node = following(cursor);
  const auto decoded = decode_btree2_node(node, *header, header->depth, header->root_record_count);
  if (decoded && header->depth > 0 && decoded->children.size() != header->root_record_count + 1U)
    std::abort();
}

constexpr ArrayOfChunks expected_array(FileSizes sizes, ChunkClient client) {
  return {.record = {.client = client, .size_of_offsets = sizes.offsets, .chunk_bytes = 4096}, .elements = 9};
}

template <ChunkClient kClient>
void fixed_array(Cursor& cursor) {
  Cursor head = first(cursor, fixed_array_header_bytes(cursor.sizes()));
  const auto header = decode_fixed_array_header(head, expected_array(cursor.sizes(), kClient));
  if (!header) return;
  Cursor block = following(cursor);
  (void)decode_fixed_array_data_block(block, *header, 0);
}

template <ChunkClient kClient>
void extensible_array(Cursor& cursor) {
  Cursor head = first(cursor, extensible_array_header_bytes(cursor.sizes()));
  const auto header = decode_extensible_array_header(head, expected_array(cursor.sizes(), kClient));
  if (!header) return;
  const std::uint64_t at = cursor.position();
  const auto next = [&] {
    cursor.seek(at);
    return following(cursor);
  };
  Cursor index = next();
  (void)decode_extensible_array_index_block(index, *header, 0);
  for (unsigned u = header->direct_super_blocks; u < header->super_blocks; u += 5) {
    if (extensible_array_super_block_bytes(cursor.sizes(), *header, u) == kUnlimited) break;
    Cursor block = next();
    (void)decode_extensible_array_super_block(block, *header, 0, u);
  }
  for (unsigned u = 0; u < header->super_blocks; u += 3) {
    const std::uint64_t elements = header->data_block_elements(u);
    const bool paged = header->pages_per_data_block(u) > 0;
    if (extensible_array_data_block_bytes(*header, elements, paged) == kUnlimited) break;
    Cursor block = next();
    (void)decode_extensible_array_data_block(block, *header, 0, elements, paged);
  }
}

void fractal_heap(Cursor& cursor) {
  const auto header = decode_fractal_heap_header(cursor, 0, std::nullopt);
  if (!header || cursor.remaining() == 0) return;
  const std::size_t at = cursor.position();
  Cursor id = following(cursor);
  (void)decode_heap_id(id, *header);
  cursor.seek(at);
  Cursor block = following(cursor);
  if (header->root_rows == 0) {
    (void)check_direct_block(block, *header, 0);
    return;
  }
  if (!check_indirect_block(block, *header, 0, header->root_rows)) return;
  for (unsigned row = 0; row < header->root_rows; ++row)
    (void)decode_indirect_entry(block, *header, header->table.entry_at(header->table.row_offset(row)));
}

void header_messages(Cursor& cursor) {
  const auto prefix = decode_object_header_prefix(cursor);
  if (!prefix) return;
  cursor.seek(prefix->prefix_bytes);
  Cursor messages = following(cursor);
  (void)for_each_raw_message(messages, *prefix, [](const RawMessage&) { return Status{}; });
}

void chunk_btree1_node(Cursor& cursor) {
  constexpr std::array<std::uint64_t, 2> kChunk = {4, 3};
  (void)decode_chunk_btree1_node(cursor, kChunk, {});
}

void global_heap(Cursor& cursor) {
  if (!decode_global_heap_header(cursor)) return;
  while (cursor.ok() && cursor.remaining() > 0) {
    const std::size_t before = cursor.remaining();
    if (!decode_global_heap_object(cursor, before)) return;
    if (cursor.remaining() >= before) std::abort();
  }
}

// The seeds in tests/fuzz/seeds/messages begin with an index of this table: a new decoder goes to its end.
constexpr Decoder kDecoders[] = {
    datatype,
    [](Cursor& c) { (void)decode_dataspace(c); },
    [](Cursor& c) { (void)decode_data_layout(c); },
    [](Cursor& c) { (void)decode_filter_pipeline(c); },
    [](Cursor& c) { (void)decode_section_pipeline(c); },
    [](Cursor& c) { (void)decode_fill_value(c); },
    [](Cursor& c) { (void)decode_fill_value_old(c); },
    [](Cursor& c) { (void)decode_link(c); },
    [](Cursor& c) { (void)decode_link_info(c); },
    [](Cursor& c) { (void)decode_attribute(c); },
    [](Cursor& c) { (void)decode_attribute_info(c); },
    [](Cursor& c) { (void)decode_external_data_files(c); },
    [](Cursor& c) {
      (void)for_each_virtual_mapping(c, [](VirtualMapping, std::size_t) { return Status(); });
    },
    [](Cursor& c) { (void)decode_selection(c); },
    [](Cursor& c) { (void)decode_group_btree1_node(c, 65'535, std::nullopt); },
    [](Cursor& c) { (void)decode_symbol_table_node(c, 65'535); },
    btree2,
    fractal_heap,
    [](Cursor& c) { (void)decode_shared_reference(c); },
    fixed_array<ChunkClient::Plain>,
    fixed_array<ChunkClient::Filtered>,
    extensible_array<ChunkClient::Plain>,
    extensible_array<ChunkClient::Filtered>,
    header_messages,
    chunk_btree1_node,
    global_heap,
    [](Cursor& c) { (void)decode_superblock(c); },
    [](Cursor& c) { (void)decode_btree_k_values(c); },
    [](Cursor& c) { (void)decode_driver_info_block(c); },
    [](Cursor& c) { (void)decode_driver_info_message(c); },
    [](Cursor& c) { (void)decode_cache_image_message(c); },
    [](Cursor& c) { (void)decode_cache_image(c); },
    [](Cursor& c) { (void)decode_symbol_table_message(c); },
    [](Cursor& c) { (void)decode_modification_time(c); },
    [](Cursor& c) { (void)decode_modification_time_old(c); },
    [](Cursor& c) { (void)decode_comment(c); },
    [](Cursor& c) { (void)decode_reference_count(c); },
    [](Cursor& c) { (void)decode_header_continuation(c, 2); },
    [](Cursor& c) { (void)decode_shared_message_table_message(c); },
    [](Cursor& c) { (void)decode_shared_message_table(c, 3); },
    [](Cursor& c) { (void)check_shared_message_list(c); },
    [](Cursor& c) { (void)decode_file_space_info(c); },
    [](Cursor& c) { (void)decode_free_space_manager(c); },
    [](Cursor& c) {
      const FreeSpaceManager manager{
          .of_heap = true, .section_count = 1000, .address_width = 8, .size_width = 3, .count_width = 2};
      (void)decode_free_sections(c, manager, [](std::uint64_t, std::uint64_t) {});
    },
    [](Cursor& c) { (void)decode_local_heap_header(c); },
    [](Cursor& c) { (void)decode_local_heap_free_block(c); },
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  h5mount::set_metadata_checksums_enabled(false);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t length) {
  if (length < 2) return 0;
  constexpr std::array<std::uint8_t, 4> kWidths = {2, 4, 8, 16};
  const FileSizes sizes{kWidths[data[1] % 4], kWidths[data[1] / 4 % 4]};
  // An exact-size copy, so that a sanitizer detects any access beyond the input.
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> structure(bytes + 2, bytes + length);
  Cursor cursor(structure, 0, "Fuzzed", sizes);
  kDecoders[data[0] % std::size(kDecoders)](cursor);
  return 0;
}

// The fuzz target of the header messages and of the structures that are decoded from memory alone. The first
// byte selects the decoder, the second the sizes of offsets and lengths; the rest is the structure.
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
#include "h5mount/format/global_heap_format.h"
#include "h5mount/format/messages.h"
#include "h5mount/format/selection.h"
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

constexpr std::array<Decoder, 19> kDecoders = {
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
    [](Cursor& c) { (void)decode_virtual_mappings(c); },
    [](Cursor& c) { (void)decode_selection(c); },
    [](Cursor& c) { (void)decode_group_btree1_node(c, 65'535, std::nullopt); },
    [](Cursor& c) { (void)decode_symbol_table_node(c, 65'535); },
    [](Cursor& c) { (void)decode_btree2_header(c, {.type = 5}); },
    [](Cursor& c) { (void)decode_fractal_heap_header(c, 0, std::nullopt); },
    [](Cursor& c) { (void)decode_shared_reference(c); },
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  h5mount::set_metadata_checksums_enabled(false);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t length) {
  if (length < 2) return 0;
  constexpr std::array<std::uint8_t, 4> kWidths = {2, 4, 8, 8};
  const FileSizes sizes{kWidths[data[1] % 4], kWidths[data[1] / 4 % 4]};
  // An exact-size copy, so that a sanitizer detects any access beyond the input.
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> structure(bytes + 2, bytes + length);
  Cursor cursor(structure, 0, "Fuzzed", sizes);
  kDecoders[data[0] % kDecoders.size()](cursor);
  return 0;
}

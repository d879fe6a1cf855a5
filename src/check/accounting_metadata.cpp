#include "accounting_metadata.h"

#include <algorithm>
#include <bit>

#include "h5mount/base/limits.h"
#include "h5mount/format/btree2_node.h"
#include "h5mount/format/cache_image.h"
#include "h5mount/format/chunk_btree1.h"
#include "h5mount/format/fractal_heap_blocks.h"
#include "h5mount/format/object_header_format.h"
#include "h5mount/format/superblock.h"
#include "h5mount/format/symbol_table.h"
#include "h5mount/metadata/btree2.h"
#include "h5mount/metadata/object_header.h"

namespace h5mount::check {

namespace {

constexpr std::uint64_t kAccounting = 1ULL << 63;  // in the numbers of such snapshots
constexpr std::uint16_t kUsualChunkK = 32;
constexpr std::uint64_t kMaxSectionBytes = limits::kMaxNodeBytes;

enum RecordType : std::uint8_t { kHugeObject = 1, kFilteredHugeObject = 2, kSharedMessage = 7 };

// Bytes that hold every number up to `most` (H5VM_limit_enc_size).
unsigned width_of(std::uint64_t most) {
  return most == 0 ? 1 : static_cast<unsigned>(std::bit_width(most) - 1) / 8 + 1;
}

}  // namespace

AccountingMetadata::AccountingMetadata(metadata::FileMetadataPtr file, AllocatedSpace& space, Damaged damaged)
    : file_(std::move(file)),
      space_(space),
      damaged_(std::move(damaged)),
      number_(file_->number() | kAccounting) {}

Result<metadata::MetadataBlock> AccountingMetadata::read(std::uint64_t address, std::uint64_t length,
                                                         std::string_view structure) const {
  auto block = file_->read(address, length, structure);
  // What a structure leads to is looked at once: a hostile file can lead to it any number of times.
  if (block && note(address, length)) note_structure(*block, address, structure);
  return block;
}

Result<metadata::MetadataBlock> AccountingMetadata::read_up_to(std::uint64_t address, std::uint64_t length,
                                                               std::string_view structure) const {
  auto block = file_->read_up_to(address, length, structure);
  if (!block) return block;
  const format::BTreeKValues& k = superblock().k;
  if (structure == "ObjectHeader") {
    format::Cursor cursor = block->cursor(structure);
    if (const auto prefix = format::decode_object_header_prefix(cursor))
      note(address,
           prefix->prefix_bytes + prefix->chunk0_bytes + format::header_checksum_bytes(prefix->version));
  } else if (structure == "GroupBTree1Node") {
    note(address, format::group_btree1_node_bytes(sizes(), std::uint64_t{2} * k.group_internal));
  } else if (structure == "SymbolTableNode") {
    note(address, format::symbol_table_node_bytes(sizes(), std::uint64_t{2} * k.group_leaf));
  } else if (structure == "ChunkBTree1Node") {
    note(address, chunk_node_bytes(length));
  } else {
    note(address, block->bytes().size());
  }
  return block;
}

// The bytes of a node of a chunk B-tree, of which readers want `usual` bytes first: those of a node of the
// usual number of children, which says what rank its keys have.
std::uint64_t AccountingMetadata::chunk_node_bytes(std::uint64_t usual) const {
  const std::uint16_t k = superblock().k.indexed_storage;
  if (k == kUsualChunkK) return usual;
  for (std::size_t rank = 1; rank <= limits::kMaxRank; ++rank)
    if (format::chunk_btree1_node_bytes(sizes(), rank, std::uint64_t{2} * kUsualChunkK) == usual)
      return format::chunk_btree1_node_bytes(sizes(), rank, std::uint64_t{2} * k);
  return usual;
}

void AccountingMetadata::note_structure(const metadata::MetadataBlock& block, std::uint64_t address,
                                        std::string_view structure) const {
  if (structure == "LocalHeap") return note_local_heap(block, address);
  if (structure == "FractalHeapHeader") return note_fractal_heap(block);
  if (structure == format::kBTree2Header) return note_tree_header(block);
  if (structure == format::kBTree2LeafNode || structure == format::kBTree2InternalNode)
    return note_tree_node(block, address);
  if (structure == "FixedArrayHeader") return note_fixed_array(block);
  if (structure == "ExtensibleArrayDataBlock") return note_paged_data_block(block, address);
}

// Every node of a B-tree.
void AccountingMetadata::note_tree(std::uint64_t address, std::uint8_t type) const {
  if (address == format::kUndefinedAddress || space_.contains(address)) return;
  const auto tree = metadata::BTree2::open(shared_from_this(), address, {.type = type});
  if (!tree) return damaged_(tree.error());
  keep((*tree)->for_each([](ByteSpan, std::uint64_t) -> Result<bool> { return true; }, damaged_));
}

// The number at `at`, of `width` bytes; all ones, which is also the undefined address, where it is not there.
std::uint64_t AccountingMetadata::number_at(ByteSpan bytes, std::size_t at, unsigned width) const {
  if (at > bytes.size() || width > bytes.size() - at) return format::kUndefinedAddress;
  const std::uint64_t number = load_le_width(bytes.data() + at, width);
  return width < 8 && number == (std::uint64_t{1} << 8 * width) - 1 ? format::kUndefinedAddress : number;
}

// The B-tree of huge objects, and the manager of free space in the blocks, which nothing else reads.
//
//   "FRHP" | version 1 | id length 2 | filters length 2 | flags 1 | largest managed object 4 | next huge id L
//   | B-tree O | free space L | free-space manager O | …
void AccountingMetadata::note_fractal_heap(const metadata::MetadataBlock& block) const {
  const unsigned lengths = sizes().lengths, offsets = sizes().offsets;
  constexpr std::size_t kFixed = 14;
  const std::uint64_t tree = number_at(block.bytes(), kFixed + lengths, offsets);
  const std::uint64_t manager =
      number_at(block.bytes(), kFixed + 2 * std::size_t{lengths} + offsets, offsets);
  const std::uint64_t filters = number_at(block.bytes(), 7, 2);
  note_tree(tree, filters == 0 ? kHugeObject : kFilteredHugeObject);
  if (manager != format::kUndefinedAddress) keep(note_free_space_manager(manager, false));
}

// The header is padded to 8 bytes; texts are read without what lies between them.
//
//   "HEAP" | version 1 | 3 | data segment's size L | free list L | data segment O
void AccountingMetadata::note_local_heap(const metadata::MetadataBlock& block, std::uint64_t address) const {
  const unsigned lengths = sizes().lengths, offsets = sizes().offsets;
  note(address, (block.bytes().size() + 7) / 8 * 8);
  const std::uint64_t bytes = number_at(block.bytes(), 8, lengths);
  const std::uint64_t segment = number_at(block.bytes(), 8 + 2 * std::size_t{lengths}, offsets);
  if (segment != format::kUndefinedAddress) note(segment, bytes);
}

// Nodes are read as far as they are used. All trees of a type have nodes of one size: libhdf5 has a constant
// for each.
//
//   "BTHD" | version 1 | type 1 | node size 4 | …        "BTLF" or "BTIN" | version 1 | type 1 | …
void AccountingMetadata::note_tree_header(const metadata::MetadataBlock& block) const {
  const std::uint64_t type = number_at(block.bytes(), 5, 1), bytes = number_at(block.bytes(), 6, 4);
  if (type < kTreeTypes && bytes <= limits::kMaxNodeBytes)
    tree_node_bytes_[type].store(static_cast<std::uint32_t>(bytes), std::memory_order_relaxed);
}

void AccountingMetadata::note_tree_node(const metadata::MetadataBlock& block, std::uint64_t address) const {
  if (const std::uint64_t type = number_at(block.bytes(), 5, 1); type < kTreeTypes)
    note(address, tree_node_bytes_[type].load(std::memory_order_relaxed));
}

// Pages that were never written take up space too.
//
//   "FAHD" | version 1 | client 1 | entry size 1 | page bits 1 | entries L | data block O | checksum 4
void AccountingMetadata::note_fixed_array(const metadata::MetadataBlock& block) const {
  const unsigned lengths = sizes().lengths, offsets = sizes().offsets;
  const std::uint64_t entry_bytes = number_at(block.bytes(), 6, 1),
                      page_bits = number_at(block.bytes(), 7, 1);
  const std::uint64_t entries = number_at(block.bytes(), 8, lengths);
  const std::uint64_t data_block = number_at(block.bytes(), 8 + std::size_t{lengths}, offsets);
  constexpr std::uint64_t kMostEntries = 1ULL << 40;
  if (data_block == format::kUndefinedAddress || page_bits >= 40 || entries >= kMostEntries) return;
  std::uint64_t bytes = 6 + std::uint64_t{offsets} + 4 + entries * entry_bytes;
  const std::uint64_t page = std::uint64_t{1} << page_bits;
  if (entries > page) {
    const std::uint64_t pages = (entries + page - 1) / page;
    bytes += (pages + 7) / 8 + 4 * pages;
  }
  note(data_block, bytes);
}

// The same of an extensible array: of a paged block its prefix is read, and the pages that were written.
//
//   "EADB" | version 1 | client 1 | header O | block offset | elements or nothing | checksum 4
void AccountingMetadata::note_paged_data_block(const metadata::MetadataBlock& block,
                                               std::uint64_t address) const {
  const unsigned offsets = sizes().offsets;
  const std::uint64_t header_address = number_at(block.bytes(), 6, offsets);
  constexpr std::uint64_t kFields = 12;  // up to the page bits
  const auto header = file_->read(header_address, kFields, "ExtensibleArrayHeader");
  if (!header) return;
  const auto field = [&](std::size_t at) { return std::to_integer<std::uint64_t>(header->bytes()[at]); };
  const std::uint64_t element_bytes = field(6), least = field(9), page_bits = field(11);
  const unsigned width = (static_cast<unsigned>(field(7)) + 7) / 8;
  const std::uint64_t prefix = 6 + std::uint64_t{offsets} + width + 4;
  if (block.bytes().size() != prefix || width == 0 || width > 8 || least == 0 || page_bits >= 40) return;
  const std::uint64_t first = number_at(block.bytes(), 6 + std::size_t{offsets}, width);
  const auto super_block = static_cast<unsigned>(std::bit_width(first / least + 1)) - 1;
  const std::uint64_t elements = (std::uint64_t{1} << (super_block + 1) / 2) * least;
  const std::uint64_t pages = elements >> page_bits;
  if (pages <= 1 || pages > limits::kMaxNodeBytes) return;
  note(address, prefix + pages * ((element_bytes << page_bits) + 4));
}

// ---- what no object leads to

void AccountingMetadata::note_file_structures() {
  note_superblock();
  note_extension();
}

void AccountingMetadata::note_superblock() const {
  const format::Superblock& block = superblock();
  const std::uint64_t offsets = sizes().offsets;
  // Version 0: 24 bytes, four addresses, and the root's symbol table entry of two addresses and 24 bytes.
  const std::uint64_t old = 24 + 4 * offsets + 2 * offsets + 24;
  note(0, block.version == 0 ? old : block.version == 1 ? old + 4 : 16 + 4 * offsets);
  if (block.driver_info_address == format::kUndefinedAddress) return;
  constexpr std::uint64_t kDriverHeader = 16;
  const auto info = file_->read(block.driver_info_address, kDriverHeader, "DriverInformationBlock");
  if (info) note(block.driver_info_address, kDriverHeader + number_at(info->bytes(), 4, 4));
}

void AccountingMetadata::note_extension() {
  if (superblock().extension_address == format::kUndefinedAddress) return;
  const auto header = metadata::load_object_header(*this, superblock().extension_address);
  if (!header) return damaged_(header.error());
  if ((*header)->damage) damaged_(*(*header)->damage);
  for (const metadata::HeaderMessage& message : (*header)->messages) {
    format::Cursor cursor = message.cursor("SuperblockExtension");
    if (message.type == format::MessageType::MetadataCacheImage) {
      if (const auto image = format::decode_cache_image_message(cursor)) note(image->address, image->length);
    } else if (message.type == format::MessageType::FileSpaceInfo) {
      note_free_space_info(message.body);
    } else if (message.type == format::MessageType::SharedMessageTable) {
      const auto table = format::decode_shared_message_table_message(cursor);
      if (!table) {
        damaged_(table.error());
        continue;
      }
      if (auto loaded = metadata::SharedMessages::load(*this, *table))
        shared_ = *std::move(loaded);
      else
        damaged_(loaded.error());
      note_shared_messages(table->table_address, table->index_count);
    }
  }
}

// The indexes of the table; its heaps are read with the messages.
//
//   "SMTB" | of each index: version 1, kind 1, types 2, least size 4, list's most 2, tree's least 2, count 2,
//   index O, heap O | checksum 4
void AccountingMetadata::note_shared_messages(std::uint64_t table, std::uint8_t indexes) {
  const unsigned offsets = sizes().offsets;
  const std::uint64_t each = 14 + std::uint64_t{2} * offsets;
  const auto block = file_->read(table, 4 + indexes * each, "SharedMessageTable");
  if (!block) return;
  for (std::size_t at = 4; at < block->bytes().size(); at += each) {
    const std::uint64_t index = number_at(block->bytes(), at + 14, offsets);
    const std::uint64_t heap = number_at(block->bytes(), at + 14 + offsets, offsets);
    if (heap != format::kUndefinedAddress)
      if (const auto opened = metadata::FractalHeap::open(shared_from_this(), heap); !opened)
        damaged_(opened.error());
    if (index == format::kUndefinedAddress) continue;
    if (block->bytes()[at + 1] != std::byte{0}) {
      note_tree(index, kSharedMessage);
      continue;
    }
    // A list: signature, records of a kind, a hash, and 12 bytes or 4 and an address, and a checksum.
    const std::uint64_t record = 5 + std::max<std::uint64_t>(12, 4 + std::uint64_t{offsets});
    note(index, 4 + number_at(block->bytes(), at + 8, 2) * record + 4);
    note_shared_message_list(index, number_at(block->bytes(), at + 12, 2) * record);
  }
}

// The checksum follows the records in use.
void AccountingMetadata::note_shared_message_list(std::uint64_t address, std::uint64_t record_bytes) const {
  constexpr std::string_view kName = "SharedMessageList";
  const auto block = file_->read(address, 4 + record_bytes + 4, kName);
  if (!block) return damaged_(block.error());
  format::Cursor cursor = block->cursor(kName);
  cursor.signature("SMLI");
  cursor.skip(static_cast<std::size_t>(record_bytes), "records");
  cursor.checksum();
  keep(cursor.finish());
}

// ---- free space that a manager keeps track of

// Version 0: strategy 1 | threshold L | six addresses where the strategy is 1. Version 1: strategy 1 |
// persists 1 | threshold L | page size L | 2 | end of the allocated space O | twelve addresses where it
// persists. Early builds of libhdf5 1.10 wrote the fields of version 1 under number 0.
void AccountingMetadata::note_free_space_info(ByteSpan message) const {
  const unsigned lengths = sizes().lengths, offsets = sizes().offsets;
  constexpr unsigned kOldManagers = 6, kManagers = 12;
  const std::size_t managers_at = 5 + 2 * std::size_t{lengths} + offsets;
  const std::uint64_t version = number_at(message, 0, 1);
  const bool old = version == 0 && message.size() < managers_at + std::size_t{kManagers} * offsets;
  const bool persists = number_at(message, old ? 1 : 2, 1) == 1;
  if (!persists || version > 1) return;
  std::size_t at = old ? 2 + std::size_t{lengths} : managers_at;
  for (unsigned i = old ? kOldManagers : kManagers; i > 0; --i, at += offsets)
    if (const std::uint64_t address = number_at(message, at, offsets); address != format::kUndefinedAddress)
      keep(note_free_space_manager(address, true));
}

// `of_file`: its sections are space of the file; else of a fractal heap, whose blocks have them.
//
//   "FSHD" | version 1 | client 1 | total space L | sections L | serialized sections L | ghosts L | classes 2
//   | shrink 2 | expand 2 | address bits 2 | largest section L | list O | used bytes L | allocated bytes L |
//   checksum 4
Status AccountingMetadata::note_free_space_manager(std::uint64_t address, bool of_file) const {
  constexpr std::string_view kName = "FreeSpaceManager";
  const unsigned lengths = sizes().lengths, offsets = sizes().offsets;
  const std::size_t behind = 14 + 4 * std::size_t{lengths};  // the address bits
  const std::size_t fields = behind + 3 * std::size_t{lengths} + offsets;
  H5_ASSIGN(const auto header, file_->read(address, fields + 4, kName));
  format::Cursor cursor = header.cursor(kName);
  cursor.signature("FSHD");
  cursor.skip(fields - 4, "fields");
  cursor.checksum();
  H5_TRY(cursor.finish());
  const ByteSpan bytes = header.bytes();
  note(address, bytes.size());
  const std::uint64_t count = number_at(bytes, 6 + 2 * std::size_t{lengths}, lengths);
  const std::uint64_t address_bits = number_at(bytes, behind - 2, 2);
  const std::uint64_t largest = number_at(bytes, behind, lengths);
  const std::uint64_t list = number_at(bytes, behind + lengths, offsets);
  const std::uint64_t used = number_at(bytes, behind + lengths + offsets, lengths);
  const std::uint64_t allocated = number_at(bytes, behind + 2 * std::size_t{lengths} + offsets, lengths);
  if (list == format::kUndefinedAddress) return {};
  const std::size_t prefix = 5 + std::size_t{offsets};
  cursor.require(used >= prefix + 4 && used <= allocated, "no size of a list of sections");
  cursor.require(allocated <= kMaxSectionBytes, "a longer list of sections than is read",
                 ErrorCode::LimitExceeded);
  H5_TRY(cursor.finish());
  note(list, allocated);
  H5_ASSIGN(const auto sections, file_->read(list, used, "FreeSpaceSections"));
  format::Cursor list_cursor = sections.cursor("FreeSpaceSections");
  list_cursor.signature("FSSE");
  list_cursor.skip(static_cast<std::size_t>(used) - 8, "sections");
  list_cursor.checksum();
  H5_TRY(list_cursor.finish());
  if (of_file && address_bits <= 64)
    note_sections(sections.bytes().subspan(prefix, static_cast<std::size_t>(used) - prefix - 4),
                  static_cast<unsigned>(address_bits + 7) / 8, width_of(largest), width_of(count), count);
  return {};
}

// Of each size: how many sections, their size; then of each section: its address, its kind.
void AccountingMetadata::note_sections(ByteSpan sections, unsigned offset_bytes, unsigned size_bytes,
                                       unsigned count_bytes, std::uint64_t count) const {
  std::size_t at = 0;
  for (std::uint64_t seen = 0; seen < count && at < sections.size();) {
    const std::uint64_t of_size = number_at(sections, at, count_bytes);
    const std::uint64_t bytes = number_at(sections, at + count_bytes, size_bytes);
    at += std::size_t{count_bytes} + size_bytes;
    if (of_size == 0) return;
    for (std::uint64_t i = 0; i < of_size && at < sections.size(); ++i, ++seen) {
      const std::uint64_t address = number_at(sections, at, offset_bytes);
      at += std::size_t{offset_bytes} + 1;
      if (address != format::kUndefinedAddress) note(address, bytes);
    }
  }
}

}  // namespace h5mount::check

#include "accounting_metadata.h"

#include "h5mount/base/limits.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/cache_image.h"
#include "h5mount/format/free_space.h"
#include "h5mount/format/object_header_format.h"
#include "h5mount/format/superblock.h"
#include "h5mount/metadata/btree2.h"
#include "h5mount/metadata/object_header.h"

namespace h5mount::check {

namespace {

constexpr std::uint64_t kAccounting = 1ULL << 63;  // in the numbers of such snapshots

enum RecordType : std::uint8_t { kHugeObject = 1, kFilteredHugeObject = 2, kSharedMessage = 7 };

}  // namespace

AccountingMetadata::AccountingMetadata(metadata::FileMetadataPtr file, AllocatedSpace& space,
                                       StructureRanges* structures, Damaged damaged)
    : file_(std::move(file)),
      space_(space),
      structures_(structures),
      damaged_(std::move(damaged)),
      number_(file_->number() | kAccounting) {}

Result<metadata::MetadataBlock> AccountingMetadata::read(std::uint64_t address, std::uint64_t length,
                                                         std::string_view structure,
                                                         metadata::Among among) const {
  // A verdict has not the memory for larger ones.
  constexpr std::uint64_t kMostOfVerdict = 256U << 20;
  if (structures_ != nullptr && length > kMostOfVerdict)
    return fail(Error(ErrorCode::LimitExceeded, structure, "length", base_address() + address)
                    .with_found(length)
                    .with_expected(kMostOfVerdict));
  auto block = file_->read(address, length, structure, among);
  if (block) note(address, length, structure);
  if (block && structure == "GlobalHeapCollection") {
    const MutexLock lock(mutex_);
    if (collections_.size() < limits::kMaxWalkedObjects) collections_.insert(address);
  }
  return block;
}

Result<metadata::MetadataBlock> AccountingMetadata::read_up_to(std::uint64_t address, std::uint64_t length,
                                                               std::string_view structure,
                                                               metadata::Among among) const {
  auto block = file_->read_up_to(address, length, structure, among);
  if (block) note(address, 0, structure);
  return block;
}

std::vector<std::uint64_t> AccountingMetadata::collections() const {
  const MutexLock lock(mutex_);
  return {collections_.begin(), collections_.end()};
}

void AccountingMetadata::refers_to(Referred structure, std::uint64_t address) const {
  switch (structure) {
    case Referred::HugeObjects:
      return note_tree(address, kHugeObject);
    case Referred::FilteredHugeObjects:
      return note_tree(address, kFilteredHugeObject);
    case Referred::FreeSpaceManager:
      return keep(note_free_space_manager(address, Space::OfHeap));
  }
}

// Whether the address is that of a structure that was not looked at yet: a hostile file can refer to a
// structure any number of times.
bool AccountingMetadata::is_new(std::uint64_t address) const {
  return address != format::kUndefinedAddress && !space_.contains(address);
}

// Notes every node of a B-tree.
void AccountingMetadata::note_tree(std::uint64_t address, std::uint8_t type) const {
  if (!is_new(address)) return;
  const auto tree = metadata::BTree2::open(shared_from_this(), address, {.type = type});
  if (!tree) return damaged_(tree.error());
  keep((*tree)->for_each([](ByteSpan, std::uint64_t) -> Result<bool> { return true; }, damaged_));
}

// ---- what no object leads to

void AccountingMetadata::note_file_structures() {
  note_superblock();
  note_extension();
}

void AccountingMetadata::note_superblock() const {
  constexpr std::string_view kName = "DriverInformationBlock";
  covers(0, superblock().bytes);
  const std::uint64_t address = superblock().driver_info_address;
  if (address == format::kUndefinedAddress) return;
  const auto block = file_->read(address, format::kDriverInfoHeaderBytes, kName);
  if (!block) return;
  format::Cursor cursor = block->cursor(kName);
  if (const auto bytes = format::decode_driver_info_block_bytes(cursor)) covers(address, *bytes);
}

void AccountingMetadata::note_extension() {
  if (superblock().extension_address == format::kUndefinedAddress) return;
  const auto header = metadata::load_object_header(*this, superblock().extension_address);
  if (!header) return damaged_(header.error());
  if ((*header)->damage) damaged_(*(*header)->damage);
  for (const metadata::HeaderMessage& message : (*header)->messages) {
    format::Cursor cursor = message.cursor(structures::kSuperblockExtension);
    if (message.type == format::MessageType::MetadataCacheImage) {
      if (const auto image = format::decode_cache_image_message(cursor))
        covers(image->address, image->length);
    } else if (message.type == format::MessageType::FileSpaceInfo) {
      const auto space = format::decode_file_space_info(cursor);
      if (!space && !message.was_unknown()) damaged_(space.error());
      for (const std::uint64_t manager : space.value_or(format::FileSpaceInfo()).managers)
        keep(note_free_space_manager(manager, Space::OfFile));
    } else if (message.type == format::MessageType::SharedMessageTable) {
      if (const auto table = format::decode_shared_message_table_message(cursor))
        note_shared_messages(*table);
      else
        damaged_(table.error());
    }
  }
}

// The heaps are opened here only for the structures that they refer to; their objects are read with the
// messages.
void AccountingMetadata::note_shared_messages(const format::SharedMessageTableMessage& message) {
  auto loaded = metadata::SharedMessages::load(*this, message);
  if (!loaded) return damaged_(loaded.error());
  shared_ = *std::move(loaded);
  for (const format::SharedMessageIndex& index : shared_->indexes()) {
    if (index.heap_address != format::kUndefinedAddress)
      if (const auto heap = metadata::FractalHeap::open(shared_from_this(), index.heap_address); !heap)
        damaged_(heap.error());
    if (index.index_address == format::kUndefinedAddress) continue;
    if (index.is_tree)
      note_tree(index.index_address, kSharedMessage);
    else
      keep(note_shared_message_list(index));
  }
}

Status AccountingMetadata::note_shared_message_list(const format::SharedMessageIndex& index) const {
  constexpr std::string_view kName = "SharedMessageList";
  covers(index.index_address, format::shared_message_list_space(index, sizes()));
  H5_ASSIGN(const auto block,
            file_->read(index.index_address, format::shared_message_list_bytes(index, sizes()), kName));
  format::Cursor cursor = block.cursor(kName);
  return format::check_shared_message_list(cursor);
}

// The sections of a manager of the file are space of the file; those of a heap's manager lie in its blocks.
Status AccountingMetadata::note_free_space_manager(std::uint64_t address, Space space) const {
  constexpr std::string_view kName = "FreeSpaceManager", kSections = "FreeSpaceSections";
  if (!is_new(address)) return {};
  H5_ASSIGN(const auto block,
            read(address, format::free_space_manager_bytes(sizes()), kName, metadata::Among::Structures));
  format::Cursor cursor = block.cursor(kName);
  H5_ASSIGN(const format::FreeSpaceManager manager, format::decode_free_space_manager(cursor));
  if (manager.list_address == format::kUndefinedAddress) return {};
  covers(manager.list_address, manager.list_space);
  H5_ASSIGN(const auto list, file_->read(manager.list_address, manager.list_bytes, kSections));
  format::Cursor sections = list.cursor(kSections);
  return format::decode_free_sections(sections, manager, [&](std::uint64_t begin, std::uint64_t bytes) {
    if (space == Space::OfFile) space_.add(begin, bytes);
  });
}

}  // namespace h5mount::check

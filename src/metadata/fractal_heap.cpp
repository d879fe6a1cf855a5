#include "h5mount/metadata/fractal_heap.h"

#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/lru_cache.h"
#include "h5mount/base/structures.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/metadata/btree2.h"
#include "h5mount/metadata/filter_pipeline.h"

namespace h5mount::metadata {

namespace {

// Room for sixteen direct blocks of the usual largest size, and for all indirect blocks, even of very large
// heaps.
constexpr std::size_t kDirectCacheBytes = 1U << 20;
constexpr std::size_t kIndirectCacheBytes = 256U << 10;

constexpr std::string_view kDirect = structures::kFractalHeapDirectBlock;
constexpr std::string_view kIndirect = structures::kFractalHeapIndirectBlock;
constexpr std::string_view kHuge = structures::kFractalHeapHugeObject;

// A direct block found in the doubling table.
struct DirectPlace {
  std::uint64_t address = format::kUndefinedAddress;
  std::uint64_t offset = 0;       // in heap space
  std::uint64_t size = 0;         // bytes of heap space, prefix included
  std::uint64_t stored_size = 0;  // only in filtered heaps
  std::uint32_t filter_mask = 0;

  bool holds(std::uint64_t at) const { return at >= offset && at - offset < size; }
};

// A direct block with its filters undone, from its signature on.
struct DirectBlock {
  std::vector<std::byte> decoded;      // of filtered heaps
  std::optional<MetadataBlock> plain;  // of other heaps
  std::uint64_t file_offset = 0;
  ByteSpan bytes() const { return plain ? plain->bytes() : ByteSpan(decoded); }
};
using DirectBlockPtr = std::shared_ptr<const DirectBlock>;

struct IndirectBlock {
  MetadataBlock block;
  std::uint64_t offset;  // in heap space
  unsigned rows;
};
using IndirectBlockPtr = std::shared_ptr<const IndirectBlock>;

struct Sought {
  format::ManagedHeapId id;
  std::size_t index;
};

class Heap final : public FractalHeap {
 public:
  Heap(FileMetadataPtr file, format::FractalHeapHeader header, std::uint64_t offset,
       std::shared_ptr<const filter::FilterPipeline> pipeline)
      : file_(std::move(file)),
        sizes_(file_->sizes()),
        header_(std::move(header)),
        offset_(offset),
        pipeline_(std::move(pipeline)),
        direct_(kDirectCacheBytes),
        indirect_(kIndirectCacheBytes) {}

  std::uint16_t heap_id_length() const override { return header_.heap_id_length; }

  Result<Object> read(ByteSpan heap_id) const override {
    auto id = decode(heap_id);
    auto object = id ? std::visit([this](const auto& found) { return read_one(found); }, *id)
                     : Result<Object>(fail(id.error()));
    if (!object) return fail(object.error().within(structures::kFractalHeapHeader, offset_));
    return object;
  }

  void read_many(ByteSpan heap_ids, const Visit& visit) const override;

 private:
  Result<format::HeapId> decode(ByteSpan heap_id) const {
    format::Cursor cursor(heap_id.first(std::min<std::size_t>(heap_id.size(), header_.heap_id_length)),
                          offset_, structures::kFractalHeapId, sizes_);
    cursor.require(heap_id.size() >= header_.heap_id_length, {"length", offset_, heap_id.size()},
                   "shorter than the heap's ids");
    if (!cursor.ok()) return fail(*cursor.error());
    return format::decode_heap_id(cursor, header_);
  }

  Result<Object> read_one(const format::ManagedHeapId& id) const;
  Result<Object> read_one(const format::HugeHeapObject& object) const;
  Result<Object> read_one(const format::HugeHeapKey& key) const;
  Result<Object> read_one(const format::TinyHeapObject& tiny) const;

  Result<DirectPlace> locate(std::uint64_t offset) const;
  Result<DirectPlace> locate_below_root(std::uint64_t offset) const;
  Result<IndirectBlockPtr> load_indirect(std::uint64_t address, std::uint64_t offset, unsigned rows) const;
  Result<DirectBlockPtr> load_direct(const DirectPlace& place) const;
  Result<DirectBlockPtr> read_direct(const DirectPlace& place) const;
  Status check_inside(const format::ManagedHeapId& id, const DirectPlace& place) const;
  Result<DirectBlockPtr> next_block(std::uint64_t offset, DirectPlace& place) const;
  Result<Object> cut_checked(const format::ManagedHeapId& id, const DirectPlace& place,
                             const Result<DirectBlockPtr>& block) const;
  Object cut(const format::ManagedHeapId& id, const DirectPlace& place, const DirectBlockPtr& block) const;
  Result<std::vector<std::byte>> unfilter(ByteSpan stored, std::uint32_t mask, std::uint64_t size) const;
  Result<std::shared_ptr<const BTree2>> huge_tree() const;

  Error bad_offset(std::string_view why, std::uint64_t offset, ErrorCode code = ErrorCode::OutOfRange) const {
    return Error(code, structures::kFractalHeapId, "heap_offset", offset_)
        .with_found(offset)
        .with_detail(std::string(why));
  }

  FileMetadataPtr file_;
  format::FileSizes sizes_;
  format::FractalHeapHeader header_;
  std::uint64_t offset_;                                    // absolute offset of the header
  std::shared_ptr<const filter::FilterPipeline> pipeline_;  // null: no filters
  mutable LruCache<DirectBlock> direct_;
  mutable LruCache<IndirectBlock> indirect_;
  mutable Mutex huge_mutex_;
  mutable std::shared_ptr<const BTree2> huge_ H5_GUARDED_BY(huge_mutex_);
};

// ---- the doubling table

Result<DirectPlace> Heap::locate(std::uint64_t offset) const {
  if (header_.root_address == format::kUndefinedAddress)
    return fail(bad_offset("the heap has no blocks", offset));
  if (header_.root_rows > 0) return locate_below_root(offset);
  DirectPlace root{header_.root_address, 0, header_.table.start_block_size, header_.filtered_root_size,
                   header_.root_filter_mask};
  if (!root.holds(offset)) return fail(bad_offset("beyond the only block", offset));
  return root;
}

// The loop ends, as indirect blocks have fewer rows on each level.
Result<DirectPlace> Heap::locate_below_root(std::uint64_t offset) const {
  const format::DoublingTable& table = header_.table;
  std::uint64_t address = header_.root_address;
  std::uint64_t base = 0;  // start of the indirect block, in heap space
  unsigned rows = header_.root_rows;
  while (true) {
    const format::DoublingTable::Entry entry = table.entry_at(offset - base);
    if (entry.row >= rows) return fail(bad_offset("beyond the last row of blocks", offset));
    H5_ASSIGN(const IndirectBlockPtr block, load_indirect(address, base, rows));
    format::Cursor cursor = block->block.cursor(kIndirect);
    H5_ASSIGN(const format::HeapBlockEntry child, format::decode_indirect_entry(cursor, header_, entry));
    if (child.address == format::kUndefinedAddress)
      return fail(bad_offset("in a block that does not exist", offset));
    const std::uint64_t size = table.block_size(entry.row);
    base += entry.offset;
    if (entry.row < table.max_direct_rows)
      return DirectPlace{child.address, base, size, child.filtered_size, child.filter_mask};
    const unsigned child_rows = table.rows_of(size);
    if (child_rows == 0 || child_rows >= rows)
      return fail(bad_offset("in an indirect block without rows", offset, ErrorCode::InvalidValue));
    address = child.address;
    rows = child_rows;
  }
}

Result<IndirectBlockPtr> Heap::load_indirect(std::uint64_t address, std::uint64_t offset,
                                             unsigned rows) const {
  if (auto held = indirect_.find(address); held && held->offset == offset && held->rows == rows) return held;
  // This is below kMaxNodeBytes: a row has at most 32,768 entries of 20 bytes, and the widths leave few rows
  // in a 64-bit space.
  const std::uint64_t bytes = header_.indirect_block_bytes(sizes_, rows);
  H5_ASSIGN(MetadataBlock block, file_->read(address, bytes, kIndirect));
  format::Cursor cursor = block.cursor(kIndirect);
  H5_TRY(format::check_indirect_block(cursor, header_, offset, rows));
  auto loaded = std::make_shared<const IndirectBlock>(IndirectBlock{std::move(block), offset, rows});
  indirect_.insert(address, loaded, static_cast<std::size_t>(bytes));
  return loaded;
}

// ---- direct blocks

Result<DirectBlockPtr> Heap::load_direct(const DirectPlace& place) const {
  if (auto held = direct_.find(place.offset)) return held;
  H5_ASSIGN(DirectBlockPtr block, read_direct(place));
  direct_.insert(place.offset, block, block->bytes().size());
  return block;
}

Result<DirectBlockPtr> Heap::read_direct(const DirectPlace& place) const {
  auto block = std::make_shared<DirectBlock>();
  if (pipeline_) {
    H5_ASSIGN(const MetadataBlock stored, file_->read(place.address, place.stored_size, kDirect));
    H5_ASSIGN(block->decoded, unfilter(stored.bytes(), place.filter_mask, place.size));
    block->file_offset = stored.file_offset();
  } else {
    H5_ASSIGN(block->plain, file_->read(place.address, place.size, kDirect));
    block->file_offset = block->plain->file_offset();
  }
  format::Cursor cursor(block->bytes(), block->file_offset, kDirect, sizes_);
  H5_TRY(format::check_direct_block(cursor, header_, place.offset));
  return block;
}

Result<std::vector<std::byte>> Heap::unfilter(ByteSpan stored, std::uint32_t mask, std::uint64_t size) const {
  std::vector<std::byte> out(static_cast<std::size_t>(size));
  filter::FilterScratch scratch;
  H5_TRY(pipeline_->decode(stored, mask, out, scratch));
  return out;
}

// ---- objects

Status Heap::check_inside(const format::ManagedHeapId& id, const DirectPlace& place) const {
  const std::uint64_t at = id.offset - place.offset;
  if (at < header_.direct_block_overhead(sizes_))
    return fail(bad_offset("in the prefix of a block", id.offset, ErrorCode::InvalidValue));
  if (!range_within(at, id.length, place.size))
    return fail(bad_offset("the object leaves its block", id.offset, ErrorCode::InvalidValue));
  return {};
}

FractalHeap::Object Heap::cut(const format::ManagedHeapId& id, const DirectPlace& place,
                              const DirectBlockPtr& block) const {
  const std::uint64_t at = id.offset - place.offset;
  const ByteSpan bytes =
      block->bytes().subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(id.length));
  return Object{bytes, pipeline_ ? block->file_offset : block->file_offset + at, sizes_, block};
}

Result<FractalHeap::Object> Heap::read_one(const format::ManagedHeapId& id) const {
  H5_ASSIGN(const DirectPlace place, locate(id.offset));
  H5_TRY(check_inside(id, place));
  if (!pipeline_ && !header_.checksummed_direct_blocks) {
    H5_ASSIGN(MetadataBlock bytes,
              file_->read(place.address + (id.offset - place.offset), id.length, kDirect));
    auto owner = std::make_shared<const MetadataBlock>(std::move(bytes));
    return Object{owner->bytes(), owner->file_offset(), sizes_, owner};
  }
  H5_ASSIGN(const DirectBlockPtr block, load_direct(place));
  return cut(id, place, block);
}

Result<FractalHeap::Object> Heap::read_one(const format::HugeHeapObject& object) const {
  const std::uint64_t most = pipeline_ ? limits::kMaxFilteredHeapObjectBytes : limits::kMaxHeapObjectBytes;
  if (std::max(object.size, object.stored_size) > most)
    return fail(Error(ErrorCode::LimitExceeded, kHuge, "length", offset_)
                    .with_found(std::max(object.size, object.stored_size))
                    .with_expected(most));
  H5_ASSIGN(MetadataBlock stored, file_->read(object.address, object.stored_size, kHuge));
  const std::uint64_t at = stored.file_offset();
  if (!pipeline_) {
    auto owner = std::make_shared<const MetadataBlock>(std::move(stored));
    return Object{owner->bytes(), at, sizes_, owner};
  }
  H5_ASSIGN(std::vector<std::byte> bytes, unfilter(stored.bytes(), object.filter_mask, object.size));
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return Object{*owner, at, sizes_, owner};
}

Result<FractalHeap::Object> Heap::read_one(const format::HugeHeapKey& key) const {
  H5_ASSIGN(const auto tree, huge_tree());
  const bool filtered = header_.filters.has_value();
  const auto decode_record = [&](ByteSpan record, std::uint64_t at) {
    format::Cursor cursor(record, at, "HugeObjectRecord", sizes_);
    return format::decode_huge_record(cursor, filtered);
  };
  H5_ASSIGN(const auto record, tree->find([&](ByteSpan bytes) -> Result<int> {
    H5_ASSIGN(const format::HugeHeapRecord found, decode_record(bytes, offset_));
    return found.key == key.key ? 0 : key.key < found.key ? -1 : 1;
  }));
  if (!record)
    return fail(Error(ErrorCode::InvalidValue, structures::kFractalHeapId, "huge_object_key", offset_)
                    .with_found(key.key)
                    .with_detail("the heap has no such object"));
  H5_ASSIGN(const format::HugeHeapRecord found, decode_record(record->bytes, record->file_offset));
  return read_one(found.object);
}

Result<FractalHeap::Object> Heap::read_one(const format::TinyHeapObject& tiny) const {
  auto owner = std::make_shared<const std::vector<std::byte>>(tiny.bytes.begin(), tiny.bytes.end());
  return Object{*owner, offset_, sizes_, owner};
}

Result<std::shared_ptr<const BTree2>> Heap::huge_tree() const {
  {
    const MutexLock lock(huge_mutex_);
    if (huge_) return huge_;
  }
  H5_ASSIGN(auto tree, BTree2::open(file_, header_.huge_btree_address,
                                    format::huge_records(sizes_, header_.filters.has_value())));
  const MutexLock lock(huge_mutex_);
  if (!huge_) huge_ = std::move(tree);
  return huge_;
}

// ---- many objects

void Heap::read_many(ByteSpan heap_ids, const Visit& visit) const {
  const std::size_t length = header_.heap_id_length;
  const std::size_t count = heap_ids.size() / length;
  std::vector<Sought> sought;
  sought.reserve(count);
  // An object that is not managed lies in no block: it is read at once, in the order of the ids.
  for (std::size_t i = 0; i < count; ++i) {
    const ByteSpan id = heap_ids.subspan(i * length, length);
    const auto decoded = decode(id);
    if (const auto* managed = decoded ? std::get_if<format::ManagedHeapId>(&*decoded) : nullptr)
      sought.push_back({*managed, i});
    else if (!visit(i, read(id)))
      return;
  }
  std::ranges::sort(sought, {}, [](const Sought& s) { return s.id.offset; });

  DirectPlace place;  // size 0: contains no offset
  Result<DirectBlockPtr> block = nullptr;
  for (const Sought& s : sought) {
    if (!place.holds(s.id.offset)) block = next_block(s.id.offset, place);
    if (!visit(s.index, cut_checked(s.id, place, block))) return;
  }
}

// Reads the block that contains `offset`, neither from the cache nor into it, as each block is used once.
// `place` receives the block's position, or becomes empty.
Result<DirectBlockPtr> Heap::next_block(std::uint64_t offset, DirectPlace& place) const {
  place = {};
  auto located = locate(offset);
  if (!located) return fail(located.error().within(structures::kFractalHeapHeader, offset_));
  place = *located;
  auto block = read_direct(place);
  if (!block) return fail(block.error().within(structures::kFractalHeapHeader, offset_));
  return block;
}

Result<FractalHeap::Object> Heap::cut_checked(const format::ManagedHeapId& id, const DirectPlace& place,
                                              const Result<DirectBlockPtr>& block) const {
  if (!block) return fail(block.error());
  if (const Status inside = check_inside(id, place); !inside)
    return fail(inside.error().within(structures::kFractalHeapHeader, offset_));
  return cut(id, place, *block);
}

}  // namespace

Result<format::FractalHeapHeader> load_fractal_heap_header(const FileMetadata& file, std::uint64_t address,
                                                           std::optional<std::uint16_t> id_length) {
  constexpr std::string_view kName = structures::kFractalHeapHeader;
  const format::FileSizes sizes = file.sizes();
  H5_ASSIGN(MetadataBlock block, file.read(address, format::fractal_heap_header_bytes(sizes, 0), kName));
  format::Cursor first = block.cursor(kName);
  H5_ASSIGN(const std::uint16_t filter_length, format::decode_fractal_heap_filter_length(first));
  if (filter_length > 0) {
    H5_ASSIGN(block, file.read(address, format::fractal_heap_header_bytes(sizes, filter_length), kName));
  }
  format::Cursor cursor = block.cursor(kName);
  return format::decode_fractal_heap_header(cursor, address, id_length);
}

Result<std::shared_ptr<const FractalHeap>> FractalHeap::open(FileMetadataPtr file, std::uint64_t address,
                                                             std::optional<std::uint16_t> id_length) {
  H5_ASSIGN(format::FractalHeapHeader header, load_fractal_heap_header(*file, address, id_length));
  using Referred = FileMetadata::Referred;
  file->refers_to(header.filters ? Referred::FilteredHugeObjects : Referred::HugeObjects,
                  header.huge_btree_address);
  file->refers_to(Referred::FreeSpaceManager, header.free_space_manager_address);
  std::shared_ptr<const filter::FilterPipeline> pipeline;
  if (header.filters) {
    H5_ASSIGN(pipeline, make_filter_pipeline(header.filters->filters, header.table.max_direct_block_size));
  }
  const std::uint64_t offset = file->base_address() + address;
  return std::make_shared<const Heap>(std::move(file), std::move(header), offset, std::move(pipeline));
}

}  // namespace h5mount::metadata

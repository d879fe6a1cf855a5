// Fractal heaps: header, blocks, ids, and the B-tree of huge objects.
#include <algorithm>

#include "fields.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/structures.h"
#include "structures.h"

namespace h5mount::check {

namespace {

constexpr std::string_view kHeapHeader = structures::kFractalHeapHeader,
                           kDirectBlock = structures::kFractalHeapDirectBlock;
constexpr std::string_view kIndirectBlock = structures::kFractalHeapIndirectBlock;

std::optional<metadata::MetadataBlock> header_block(const Context& context, std::uint64_t address) {
  const auto start = context.metadata->read_up_to(address, format::kFractalHeapHeaderStart, kHeapHeader);
  if (!start) return std::nullopt;
  format::Cursor first = start->cursor(kHeapHeader);
  const auto filters = format::decode_fractal_heap_filter_length(first);
  if (!filters) return std::nullopt;
  auto block = context.metadata->read_up_to(
      address, format::fractal_heap_header_bytes(context.metadata->sizes(), *filters), kHeapHeader);
  return block ? std::optional(*std::move(block)) : std::nullopt;
}

std::optional<format::FractalHeapHeader> decoded_header(const Context& context, std::uint64_t address) {
  const auto block = header_block(context, address);
  if (!block) return std::nullopt;
  format::Cursor cursor = block->cursor(kHeapHeader);
  auto header = format::decode_fractal_heap_header(cursor, address, std::nullopt);
  return header ? std::optional(*std::move(header)) : std::nullopt;
}

class HeapFields {
 public:
  HeapFields(const Context& context, PlaceId place, const format::FractalHeapHeader& header,
             const HeapUse* use)
      : context_(context), place_(place), header_(header), use_(use), sizes_(context.metadata->sizes()) {}

  void check(Fields& heap) {
    heap.signature();
    heap.u8("version");
    heap.u16("heap_id_length");
    const std::uint16_t filters = heap.u16("filters_length");
    heap.u8("flags");
    heap.want((heap.last().value & 0xFC) == 0, "reserved bits are set");
    heap.u32("max_managed_size");
    const std::uint64_t block = header_.table.max_direct_block_size;
    heap.want(heap.last().value <= block - std::min(block, header_.direct_block_overhead(sizes_)),
              "is more than a direct block has room for");
    check_statistics(heap);
    check_table(heap, filters);
    heap.checksum();
    walk_blocks();
    compare(heap);
    follow();
  }

 private:
  void check_statistics(Fields& heap) {
    heap.plain_length("next_huge_id");
    next_huge_ = heap.last();
    heap.address("huge_btree_address");
    heap.want_stored(1, kBehindEnd);
    huge_tree_ = heap.last();
    heap.plain_length("free_space");
    free_space_ = heap.last();
    heap.address("free_space_manager_address");
    heap.want_stored(1, kBehindEnd);
    heap.plain_length("managed_space");
    managed_space_ = heap.last();
    heap.plain_length("allocated_managed_space");
    allocated_ = heap.last();
    heap.plain_length("allocation_iterator");
    iterator_ = heap.last();
    for (auto& [name, field] : {std::pair("managed_objects", &managed_),
                                std::pair("huge_bytes", &huge_bytes_), std::pair("huge_objects", &huge_),
                                std::pair("tiny_bytes", &tiny_bytes_), std::pair("tiny_objects", &tiny_)}) {
      heap.plain_length(name);
      *field = heap.last();
    }
  }

  void check_table(Fields& heap, std::uint16_t filters) {
    heap.u16("table_width");
    heap.plain_length("start_block_size");
    heap.plain_length("max_direct_block_size");
    heap.u16("max_heap_size");
    heap.u16("starting_root_rows");
    heap.want(heap.last().value <= header_.table.max_rows, "is more than the heap's space has");
    heap.address("root_address");
    heap.want_stored(1, kBehindEnd);
    heap.u16("root_rows");
    if (filters == 0) return;
    heap.plain_length("filtered_root_size");
    heap.u32("root_filter_mask");
    Fields pipeline = heap.part(filters, structures::kFilterPipelineMessage);
    check_filter_fields(pipeline);
    if (pipeline.ok() && pipeline.remaining() > 0) pipeline.bytes(pipeline.remaining(), "trailing_bytes");
  }

  // ---- blocks

  void walk_blocks() {
    if (header_.root_address == format::kUndefinedAddress) return;
    if (header_.root_rows == 0)
      check_direct(header_.root_address, 0, header_.table.start_block_size,
                   {header_.root_address, header_.filtered_root_size, header_.root_filter_mask});
    else
      check_indirect(header_.root_address, 0, header_.root_rows, 0);
  }

  void check_prefix(Fields& block, std::uint64_t offset) {
    block.signature();
    block.u8("version");
    block.address("heap_header_address");
    block.uint(header_.offset_width, "block_offset");
    (void)offset;
  }

  void check_direct(std::uint64_t address, std::uint64_t offset, std::uint64_t bytes,
                    const format::HeapBlockEntry& entry) {
    allocated_bytes_ += bytes;
    (void)entry;
    if (header_.filters) return;  // its bytes are not those of the file
    const auto read = take_structure(context_, address, bytes, kDirectBlock);
    if (!read) return;
    Fields block(context_, place_, read->cursor(kDirectBlock));
    check_prefix(block, offset);
    if (header_.checksummed_direct_blocks) block.checksum_of_block(bytes);
  }

  void check_indirect(std::uint64_t address, std::uint64_t offset,
                      unsigned rows,  // NOLINT(misc-no-recursion)
                      unsigned depth) {
    const std::uint64_t bytes = header_.indirect_block_bytes(sizes_, rows);
    const auto read = depth > limits::kMaxTreeDepth
                          ? std::nullopt
                          : take_structure(context_, address, bytes, kIndirectBlock);
    whole_ = whole_ && read;
    if (!read) return;
    Fields block(context_, place_, read->cursor(kIndirectBlock));
    check_prefix(block, offset);
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned column = 0; column < header_.table.width && block.ok(); ++column)
        check_child(block, offset + header_.table.row_offset(row) + column * header_.table.block_size(row),
                    row, depth);
    block.checksum();
  }

  void check_child(Fields& block, std::uint64_t offset, unsigned row,  // NOLINT(misc-no-recursion)
                   unsigned depth) {
    const bool direct = row < header_.table.max_direct_rows;
    format::HeapBlockEntry entry;
    entry.address = block.address("child_block_address");
    block.want_stored(1, kBehindEnd);
    if (direct && header_.filters) {
      entry.filtered_size = block.length("filtered_block_size");
      block.want(entry.address == format::kUndefinedAddress || entry.filtered_size > 0, "is zero");
      entry.filter_mask = block.u32("filter_mask");
    }
    if (entry.address == format::kUndefinedAddress) return;
    const std::uint64_t bytes = header_.table.block_size(row);
    if (direct)
      check_direct(entry.address, offset, bytes, entry);
    else
      check_indirect(entry.address, offset, header_.table.rows_of(bytes), depth + 1);
  }

  // ---- sums

  // The bytes for objects in all blocks of so many rows, whether they are allocated or not.
  std::uint64_t capacity(unsigned rows, unsigned depth = 0) const {  // NOLINT(misc-no-recursion)
    std::uint64_t sum = 0;
    for (unsigned row = 0; row < rows; ++row) {
      const std::uint64_t bytes = header_.table.block_size(row);
      const std::uint64_t each =
          row < header_.table.max_direct_rows ? bytes - header_.direct_block_overhead(sizes_)
          : depth < limits::kMaxTreeDepth     ? capacity(header_.table.rows_of(bytes), depth + 1)
                                              : 0;
      sum += header_.table.width * each;
    }
    return sum;
  }

  void compare(Fields& heap) {
    const bool root = header_.root_address != format::kUndefinedAddress;
    const std::uint64_t space = !root                    ? 0
                                : header_.root_rows == 0 ? header_.table.start_block_size
                                                         : header_.table.row_offset(header_.root_rows);
    heap.want_equal(space, managed_space_, "is not the space of the root's rows");
    if (whole_) heap.want_equal(allocated_bytes_, allocated_, "is not that of the blocks");
    heap.want(iterator_.value <= space && iterator_.value % header_.table.start_block_size == 0, iterator_,
              "is no place of a block in the managed space");
    heap.want((huge_.value > 0) == (huge_tree_.value != format::kUndefinedAddress) || huge_.value == 0,
              huge_tree_, "there is a tree where there are huge objects");
    if (use_ == nullptr || !use_->whole || !context_.tally.go_on()) return;
    heap.want_equal(use_->managed, managed_, "is not the number of ids of such objects");
    heap.want_equal(use_->huge, huge_, "is not the number of ids of such objects");
    heap.want_equal(use_->tiny, tiny_, "is not the number of ids of such objects");
    heap.want_equal(use_->tiny_bytes, tiny_bytes_, "is not that of their ids");
    const std::uint64_t room = !root ? 0
                               : header_.root_rows == 0
                                   ? header_.table.start_block_size - header_.direct_block_overhead(sizes_)
                                   : capacity(header_.root_rows);
    heap.want_equal(room - std::min(room, use_->managed_bytes), free_space_,
                    "is not what the objects leave of the managed space");
  }

  void follow() {
    if (header_.free_space_manager_address != format::kUndefinedAddress)
      check_free_space_fields(context_, place_, header_.free_space_manager_address, true,
                              managed_space_.value);
    if (header_.huge_btree_address != format::kUndefinedAddress) check_huge_tree();
  }

  void check_huge_tree() {
    const bool filtered = header_.filters.has_value();
    const Tree2 tree{
        header_.huge_btree_address, static_cast<std::uint8_t>(filtered ? 2 : 1),
        std::uint64_t{sizes_.offsets} + 2ULL * sizes_.lengths + (filtered ? 4U + sizes_.lengths : 0U),
        "HugeObjectRecord"};
    std::uint64_t sum = 0, last = 0;
    check_btree2_fields(context_, place_, tree, [&](Fields& record) {
      record.address("huge_object_address");
      const format::Field address = record.last();
      const std::uint64_t bytes = record.length("huge_object_length");
      record.want(bytes > 0, "is zero");
      record.want_stored(address, bytes, "the object reaches behind the end of the file");
      if (filtered) {
        record.u32("filter_mask");
        record.length("huge_object_memory_size");
        sum += record.last().value;
      } else {
        sum += bytes;
      }
      const std::uint64_t id = record.plain_length("huge_object_id");
      record.want(id > last, "is not above that of the record before");
      record.want(id <= next_huge_.value, "is above the largest of the heap");
      last = std::max(last, id);
    });
    if (last > 0 && huge_bytes_.value != sum)
      context_.disagrees(place_, Error(ErrorCode::InvalidValue, kHeapHeader, "huge_bytes", huge_bytes_.offset)
                                     .with_found(huge_bytes_.value)
                                     .with_expected(sum)
                                     .with_detail("is not that of the huge objects"));
    if (last > next_huge_.value)
      context_.disagrees(place_,
                         Error(ErrorCode::InvalidValue, kHeapHeader, "next_huge_id", next_huge_.offset)
                             .with_found(next_huge_.value)
                             .with_expected(last)
                             .with_detail("an object has a larger one"));
  }

  const Context& context_;
  const PlaceId place_;
  const format::FractalHeapHeader& header_;
  const HeapUse* const use_;
  const format::FileSizes sizes_;
  format::Field next_huge_, huge_tree_, free_space_, managed_space_, allocated_, iterator_, managed_,
      huge_bytes_, huge_, tiny_bytes_, tiny_;
  std::uint64_t allocated_bytes_ = 0;
  bool whole_ = true;  // whether all blocks could be read
};

}  // namespace

void check_heap_fields(const Context& context, PlaceId place, std::uint64_t address, const HeapUse* use) {
  const auto header = decoded_header(context, address);
  const auto read = header ? header_block(context, address) : std::nullopt;
  if (!read || !context.structures.enter(address, read->bytes().size())) return;
  Fields heap(context, place, read->cursor(kHeapHeader));
  HeapFields(context, place, *header, use).check(heap);
}

HeapIds::HeapIds(const Context& context, std::uint64_t heap_address)
    : header_(decoded_header(context, heap_address)) {
  if (auto heap = metadata::FractalHeap::open(context.metadata, heap_address)) heap_ = *std::move(heap);
}

void HeapIds::check_managed(Fields& record, std::size_t left) {
  const std::size_t widths = std::size_t{header_->offset_width} + header_->length_width;
  if (left < widths) return;
  record.uint(header_->offset_width, "heap_offset");
  place_ = record.last();
  const std::uint64_t length = record.uint(header_->length_width, "object_length");
  length_ = record.last();
  ++use_.managed;
  use_.managed_bytes += length;
  if (left > widths) record.zeros(left - widths, "heap_id.unused");
}

void HeapIds::check_id(Fields& record, std::size_t bytes) {
  constexpr unsigned kManaged = 0, kHuge = 1, kTiny = 2;
  const ByteSpan rest = record.rest();
  id_.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(std::min(bytes, rest.size())));
  const unsigned first = record.u8("heap_id_type");
  const unsigned type = first >> 4 & 3;
  record.want(first >> 6 == 0 && type <= kTiny, "is no type of an id");
  record.want(type == kTiny || (first & 0x0F) == 0, "reserved bits are set");
  plain_ = type != kTiny && header_ && !header_->filters;
  if (!header_ || bytes == 0 || type > kTiny) {
    use_.whole = false;
    if (bytes > 1) record.bytes(bytes - 1, "heap_id");
    return;
  }
  if (type == kManaged) return check_managed(record, bytes - 1);
  record.bytes(bytes - 1, type == kHuge ? "huge_object_key" : "tiny_object");
  place_ = record.last();
  place_.value = load_le_width(id_.data(), std::min<std::size_t>(id_.size(), 8));
  length_ = {};
  if (type == kHuge) ++use_.huge;
  if (type == kTiny) {
    ++use_.tiny;
    const unsigned extended = bytes > 18 && id_.size() > 1 ? std::to_integer<unsigned>(id_[1]) : 0;
    use_.tiny_bytes += (bytes > 18 ? (first & 0x0FU) << 8 | extended : first & 0x0FU) + 1;
  }
}

void HeapIds::keep(const Fields& record, const format::Field& field) {
  if (!heap_ || id_.size() < heap_->heap_id_length()) return;
  kept_ids_.insert(kept_ids_.end(), id_.begin(),
                   id_.begin() + static_cast<std::ptrdiff_t>(heap_->heap_id_length()));
  kept_.push_back({record, field, plain_});
}

void HeapIds::remember(std::uint64_t flags) {
  if (known_.size() < kMostKnown) known_.emplace(place_.value, Known{length_.value, flags});
}

void HeapIds::want_known(Fields& record, const HeapIds& names, const format::Field* flags) {
  if (!names.use_.whole || names.known_.size() >= kMostKnown || !use_.whole) return;
  const auto known = names.known_.find(place_.value);
  if (!record.want(known != names.known_.end(), place_, "is no object of the index of names")) return;
  record.want(known->second.length == length_.value, length_, "is not what the index of names says");
  if (flags != nullptr)
    record.want(known->second.flags == flags->value, *flags, "are not what the index of names says");
}

void HeapIds::read_kept(const Visit& visit) {
  if (heap_)
    heap_->read_many(kept_ids_, [&](std::size_t i, const Result<metadata::FractalHeap::Object>& object) {
      if (object) visit(kept_[i].record, kept_[i].field, kept_[i].plain, *object);
      return true;
    });
  kept_.clear();
  kept_ids_.clear();
}

}  // namespace h5mount::check

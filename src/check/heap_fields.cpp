// Fractal heaps: header, blocks, ids, and the B-tree of huge objects.
#include <algorithm>

#include "fields.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/structures.h"

namespace h5mount::check {

namespace {

constexpr std::string_view kHeapHeader = structures::kFractalHeapHeader,
                           kDirectBlock = structures::kFractalHeapDirectBlock;
constexpr std::string_view kIndirectBlock = structures::kFractalHeapIndirectBlock;

std::optional<metadata::MetadataBlock> header_block(const Subject& subject, std::uint64_t address) {
  const auto start = subject.file().read_up_to(address, format::kFractalHeapHeaderStart, kHeapHeader);
  if (!start) return std::nullopt;
  format::Cursor first = start->cursor(kHeapHeader);
  const auto filters = format::decode_fractal_heap_filter_length(first);
  if (!filters) return std::nullopt;
  auto block = subject.file().read_up_to(
      address, format::fractal_heap_header_bytes(subject.file().sizes(), *filters), kHeapHeader);
  return block ? std::optional(*std::move(block)) : std::nullopt;
}

std::optional<format::FractalHeapHeader> decoded_header(const std::optional<metadata::MetadataBlock>& block,
                                                        std::uint64_t address) {
  if (!block) return std::nullopt;
  format::Cursor cursor = block->cursor(kHeapHeader);
  auto header = format::decode_fractal_heap_header(cursor, address, std::nullopt);
  return header ? std::optional(*std::move(header)) : std::nullopt;
}

class HeapFields {
 public:
  HeapFields(Fields& heap, const format::FractalHeapHeader& header, const HeapUse& use)
      : heap_(heap), header_(header), use_(use) {}

  void run() {
    heap_.begin({"version"});
    heap_.u16("heap_id_length");
    const Field filters = heap_.u16("filters_length");
    heap_.u8("flags").want_flags(0x03);
    const Field largest = heap_.u32("max_managed_size");
    const std::uint64_t block = header_.table.max_direct_block_size;
    largest.want(largest <= block - std::min(block, overhead_), "is more than a direct block has room for");
    check_statistics();
    check_table(filters);
    heap_.checksum();
    const bool root = header_.root_address != format::kUndefinedAddress;
    if (root && header_.root_rows == 0) check_direct(header_.root_address, header_.table.start_block_size);
    if (root && header_.root_rows > 0) check_indirect(header_.root_address, header_.root_rows, 0);
    compare();
    check_free_space_fields(heap_, header_.free_space_manager_address, true, managed_space_);
    check_huge_tree();
  }

 private:
  void check_statistics() {
    next_huge_ = heap_.plain_length("next_huge_id");
    huge_tree_ = heap_.address("huge_btree_address");
    huge_tree_.want_stored();
    free_space_ = heap_.plain_length("free_space");
    heap_.address("free_space_manager_address").want_stored();
    managed_space_ = heap_.plain_length("managed_space");
    allocated_ = heap_.plain_length("allocated_managed_space");
    iterator_ = heap_.plain_length("allocation_iterator");
    managed_ = heap_.plain_length("managed_objects");
    huge_bytes_ = heap_.plain_length("huge_bytes");
    huge_ = heap_.plain_length("huge_objects");
    tiny_bytes_ = heap_.plain_length("tiny_bytes");
    tiny_ = heap_.plain_length("tiny_objects");
  }

  void check_table(std::uint64_t filters) {
    heap_.u16("table_width");
    heap_.plain_length("start_block_size");
    heap_.plain_length("max_direct_block_size");
    heap_.u16("max_heap_size");
    const Field rows = heap_.u16("starting_root_rows");
    rows.want(rows <= header_.table.max_rows, "is more than the heap's space has");
    heap_.address("root_address").want_stored();
    heap_.u16("root_rows");
    if (filters == 0) return;
    if (header_.filters && heap_.context->observer != nullptr)
      heap_.context->observer->met_filters(heap_.place, header_.filters->filters);
    heap_.plain_length("filtered_root_size");
    heap_.u32("root_filter_mask");
    Fields pipeline = heap_.part(filters, structures::kFilterPipelineMessage);
    check_filter_fields(pipeline);
    if (pipeline.ok()) pipeline.rest("trailing_bytes");
  }

  // ---- blocks

  void check_prefix(Fields& block) const {
    block.begin({"version"});
    block.address("heap_header_address");
    block.uint(header_.offset_width, "block_offset");
  }

  void check_direct(std::uint64_t address, std::uint64_t bytes) {
    allocated_bytes_ += bytes;
    if (header_.filters) return;  // its bytes are not those of the file
    auto block = heap_.take(address, bytes, kDirectBlock);
    if (!block) return;
    check_prefix(*block);
    if (header_.checksummed_direct_blocks) block->checksum(bytes);
  }

  void check_indirect(std::uint64_t address, unsigned rows, unsigned depth) {  // NOLINT(misc-no-recursion)
    auto block = depth > limits::kMaxTreeDepth
                     ? std::nullopt
                     : heap_.take(address, header_.indirect_block_bytes(sizes_, rows), kIndirectBlock);
    whole_ = whole_ && block;
    if (!block) return;
    check_prefix(*block);
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned column = 0; column < header_.table.width && block->ok(); ++column)
        check_child(*block, row, depth);
    block->checksum();
  }

  void check_child(Fields& block, unsigned row, unsigned depth) {  // NOLINT(misc-no-recursion)
    const bool direct = row < header_.table.max_direct_rows;
    const Field address = block.address("child_block_address");
    const bool there = address != format::kUndefinedAddress;
    address.want_stored();
    if (direct && header_.filters) {
      const Field size = block.length("filtered_block_size");
      if (there) size.want_not_zero();
      block.u32("filter_mask");
    }
    const std::uint64_t bytes = header_.table.block_size(row);
    if (there && direct) check_direct(address, bytes);
    if (there && !direct) check_indirect(address, header_.table.rows_of(bytes), depth + 1);
  }

  // ---- sums

  // The bytes for objects in all blocks of so many rows, whether they are allocated or not.
  std::uint64_t capacity(unsigned rows, unsigned depth = 0) const {  // NOLINT(misc-no-recursion)
    std::uint64_t sum = 0;
    for (unsigned row = 0; row < rows; ++row) {
      const std::uint64_t bytes = header_.table.block_size(row);
      const std::uint64_t each = row < header_.table.max_direct_rows ? bytes - overhead_
                                 : depth < limits::kMaxTreeDepth
                                     ? capacity(header_.table.rows_of(bytes), depth + 1)
                                     : 0;
      sum += header_.table.width * each;
    }
    return sum;
  }

  void compare() const {
    const std::uint64_t start = header_.table.start_block_size;
    const bool root = header_.root_address != format::kUndefinedAddress;
    const std::uint64_t space = !root                    ? 0
                                : header_.root_rows == 0 ? start
                                                         : header_.table.row_offset(header_.root_rows);
    managed_space_.want_equal(space, "is not the space of the root's rows");
    if (whole_) allocated_.want_equal(allocated_bytes_, "is not that of the blocks");
    iterator_.want(iterator_ <= space && iterator_ % start == 0,
                   "is no place of a block in the managed space");
    huge_tree_.want(huge_ == 0 || huge_tree_ != format::kUndefinedAddress,
                    "there is a tree where there are huge objects");
    if (!use_.whole || !heap_.go_on()) return;
    managed_.want_equal(use_.managed, "is not the number of ids of such objects");
    huge_.want_equal(use_.huge, "is not the number of ids of such objects");
    tiny_.want_equal(use_.tiny, "is not the number of ids of such objects");
    tiny_bytes_.want_equal(use_.tiny_bytes, "is not that of their ids");
    const std::uint64_t room = !root                    ? 0
                               : header_.root_rows == 0 ? start - overhead_
                                                        : capacity(header_.root_rows);
    free_space_.want_equal(room - std::min(room, use_.managed_bytes),
                           "is not what the objects leave of the managed space");
  }

  void check_huge_tree() const {
    const bool filtered = header_.filters.has_value();
    const std::uint64_t widths =
        std::uint64_t{sizes_.offsets} + 2ULL * sizes_.lengths + (filtered ? 4U + sizes_.lengths : 0U);
    std::uint64_t sum = 0, last = 0;
    check_btree2_fields(
        heap_,
        {header_.huge_btree_address, static_cast<std::uint8_t>(filtered ? 2 : 1), widths, "HugeObjectRecord"},
        [&](Fields& record) {
          const Field address = record.address("huge_object_address");
          const Field bytes = record.length("huge_object_length");
          bytes.want_not_zero();
          address.want_stored(bytes, "the object reaches behind the end of the file");
          if (filtered) record.u32("filter_mask");
          sum += filtered ? record.length("huge_object_memory_size") : bytes;
          const Field id = record.plain_length("huge_object_id");
          id.want(id > last, "is not above that of the record before");
          id.want(id <= next_huge_, "is above the largest of the heap");
          last = std::max(last, id.value);
        });
    if (last > 0) huge_bytes_.want_equal(sum, "is not that of the huge objects");
    if (last > next_huge_) next_huge_.want_equal(last, "an object has a larger one");
  }

  Fields& heap_;
  const format::FractalHeapHeader& header_;
  const HeapUse& use_;
  const format::FileSizes sizes_ = heap_.sizes();
  const std::uint64_t overhead_ = header_.direct_block_overhead(sizes_);
  Field next_huge_, huge_tree_, free_space_, managed_space_, allocated_, iterator_, managed_, huge_bytes_,
      huge_, tiny_bytes_, tiny_;
  std::uint64_t allocated_bytes_ = 0;
  bool whole_ = true;  // whether all blocks could be read
};

}  // namespace

void check_heap_fields(const Subject& subject, std::uint64_t address, const HeapUse& use) {
  auto block = header_block(subject, address);
  const auto header = decoded_header(block, address);
  if (!header || !subject.context->structures.enter(address, block->bytes().size())) return;
  Fields heap(subject, *std::move(block), kHeapHeader);
  HeapFields(heap, *header, use).run();
}

HeapIds::HeapIds(const Subject& subject, std::uint64_t heap_address)
    : header_(decoded_header(header_block(subject, heap_address), heap_address)) {
  if (auto heap = metadata::FractalHeap::open(subject.context->metadata, heap_address))
    heap_ = *std::move(heap);
}

void HeapIds::check_managed(Fields& record, std::size_t left) {
  const std::size_t widths = std::size_t{header_->offset_width} + header_->length_width;
  if (left < widths) return;
  place_ = record.uint(header_->offset_width, "heap_offset");
  length_ = record.uint(header_->length_width, "object_length");
  ++use_.managed;
  use_.managed_bytes += length_;
  record.zeros(left - widths, "heap_id.unused");
}

void HeapIds::check_id(Fields& record, std::size_t bytes) {
  constexpr unsigned kManaged = 0, kHuge = 1, kTiny = 2;
  const ByteSpan id = record.next(bytes);
  id_.assign(id.begin(), id.end());
  const Field first = record.u8("heap_id_type");
  const std::uint64_t type = first >> 4 & 3, low = first & 0x0F;
  first.want(first >> 6 == 0 && type <= kTiny, "is no type of an id");
  first.want(type == kTiny || low == 0, "reserved bits are set");
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
  if (type != kTiny) return;
  ++use_.tiny;
  const unsigned extended = id_.size() > 18 ? std::to_integer<unsigned>(id_[1]) : 0;
  use_.tiny_bytes += (bytes > 18 ? low << 8 | extended : low) + 1;
}

void HeapIds::look_at(const Field& field, const Visit& visit) {
  if (!heap_ || id_.size() < heap_->heap_id_length()) return;
  kept_ids_.insert(kept_ids_.end(), id_.begin(),
                   id_.begin() + static_cast<std::ptrdiff_t>(heap_->heap_id_length()));
  kept_.push_back({field, plain_});
  if (kept_.size() >= kMostKept) finish(visit);
}

void HeapIds::finish(const Visit& visit) {
  if (heap_)
    heap_->read_many(kept_ids_, [&](std::size_t i, const Result<metadata::FractalHeap::Object>& object) {
      if (object) visit(kept_[i].field, kept_[i].plain, *object);
      return true;
    });
  kept_.clear();
  kept_ids_.clear();
}

void HeapIds::remember(std::uint64_t flags) {
  if (known_.size() < kMostKnown) known_.emplace(place_.value, Known{length_, flags});
}

void HeapIds::want_known(const HeapIds& names, const Field& flags) const {
  if (!names.use_.whole || names.known_.size() >= kMostKnown || !use_.whole) return;
  const auto known = names.known_.find(place_);
  if (!place_.want(known != names.known_.end(), "is no object of the index of names")) return;
  length_.want(known->second.length == length_, "is not what the index of names says");
  flags.want(known->second.flags == flags, "are not what the index of names says");
}

}  // namespace h5mount::check

// Managers of free space, of the file and of fractal heaps, and their sections.
#include <algorithm>
#include <bit>
#include <map>

#include "fields.h"
#include "h5mount/base/checked.h"
#include "h5mount/format/free_space.h"

namespace h5mount::check {

namespace {

constexpr std::string_view kManager = "FreeSpaceManager", kSections = "FreeSpaceSections";

class FreeSpaceFields {
 public:
  FreeSpaceFields(const Context& context, PlaceId place, std::uint64_t address, bool of_heap,
                  std::uint64_t space_end)
      : context_(context), place_(place), address_(address), of_heap_(of_heap), space_end_(space_end) {}

  void run() {
    const std::uint64_t bytes = format::free_space_manager_bytes(context_.metadata->sizes());
    const auto block = take_structure(context_, address_, bytes, kManager);
    if (!block) return;
    format::Cursor cursor = block->cursor(kManager);
    const auto manager = format::decode_free_space_manager(cursor);
    if (!manager) return;
    manager_ = *manager;
    Fields fields(context_, place_, block->cursor(kManager));
    check_manager(fields);
  }

 private:
  void check_manager(Fields& fields) {
    constexpr std::uint64_t kHeapClasses = 4, kFileClasses = 3, kMostBits = 64;
    fields.signature();
    fields.u8("version");
    fields.u8("client");
    fields.want_equal(of_heap_ ? 0 : 1, "is 0 for a heap, 1 for a file");
    fields.plain_length("total_space");
    const format::Field total = fields.last();
    fields.plain_length("section_count");
    const format::Field count = fields.last();
    const std::uint64_t stored = fields.plain_length("stored_section_count");
    const format::Field stored_field = fields.last();
    const std::uint64_t ghosts = fields.plain_length("ghost_section_count");
    fields.want_equal(checked_add(stored, ghosts).value_or(~0ULL), count,
                      "is not that of stored and other sections");
    fields.u16("class_count");
    fields.want(of_heap_ ? fields.last().value == kHeapClasses
                         : fields.last().value >= 1 && fields.last().value <= kFileClasses,
                "is not that of such a manager");
    classes_ = fields.last().value;
    fields.u16("shrink_percent");
    const format::Field shrink = fields.last();
    fields.u16("expand_percent");
    fields.want(shrink.value > 0 && shrink.value < fields.last().value, shrink,
                "is not between 0 and the percent to expand by");
    fields.want(fields.last().value >= 100, "is below 100");
    fields.u16("address_bits");
    fields.want(fields.last().value > 0 && fields.last().value <= kMostBits, "is not 1 to 64");
    largest_ = fields.plain_length("largest_section");
    fields.want(largest_ > 0, "is zero");
    fields.address("list_address");
    const format::Field list = fields.last();
    const std::uint64_t used = fields.plain_length("list_bytes");
    const std::uint64_t space = fields.plain_length("list_space");
    const format::Field space_field = fields.last();
    fields.checksum();
    fields.want((list.value == format::kUndefinedAddress) == (stored == 0), list,
                "there is a list if, and only if, sections are stored");
    if (list.value == format::kUndefinedAddress || stored == 0) {
      fields.want(total.value == 0 || ghosts > 0, total, "no section has this space");
      return;
    }
    fields.want_stored(list, 1, kBehindEnd);
    if (range_within(list.value, used, context_.stored_end))
      fields.want(range_within(list.value, space, context_.stored_end), space_field,
                  "reaches behind the end of the file");
    if (!check_list(list.value, used)) return;
    fields.want_equal(sections_, stored_field, "is not the number of sections in the list");
    if (ghosts == 0) fields.want_equal(sum_, total, "is not that of the sections");
  }

  // Returns whether all of the list could be read.
  bool check_list(std::uint64_t address, std::uint64_t bytes) {
    const auto block = take_structure(context_, address, bytes, kSections);
    if (!block || manager_.address_width > 8 || bytes < 4) return false;
    Fields list(context_, place_, block->cursor(kSections));
    list.signature();
    list.u8("version");
    list.address("manager_address");
    list.want_equal(address_, "is not the manager that leads here");
    std::uint64_t size_before = 0;
    while (list.ok() && sections_ < manager_.section_count && list.remaining() > 4) {
      const std::uint64_t of_size = list.uint(manager_.count_width, "section_count");
      list.want(of_size > 0, "is zero");
      if (of_size == 0 || of_size > manager_.section_count - sections_) return false;
      const std::uint64_t size = list.uint(manager_.size_width, "section_size");
      list.want(size > size_before, "is not above that of the sections before");
      list.want(std::bit_width(size) <= std::bit_width(largest_) && size <= largest_,
                "is above the largest that is tracked");
      list.want(size < largest_ || !std::has_single_bit(largest_) || size == 0,
                "is of no bin, which are as many as the largest has bits below it");
      size_before = size;
      for (std::uint64_t i = 0; i < of_size && list.ok(); ++i) check_section(list, size);
    }
    if (list.remaining() > 4) list.bytes(list.remaining() - 4, "unused");
    list.checksum();
    return list.ok();
  }

  void check_section(Fields& list, std::uint64_t size) {
    constexpr std::uint64_t kFirstRow = 1, kIndirect = 3;
    const std::uint64_t at = list.uint(manager_.address_width, "section_address");
    const format::Field field = list.last();
    const std::uint64_t type = list.u8("section_class");
    list.want(type < classes_, "is no class of this manager");
    if (of_heap_ && (type == kFirstRow || type == kIndirect)) {
      list.uint(manager_.address_width, "indirect_block_offset");
      list.want(list.last().value < space_end_ || space_end_ == 0, "lies outside the heap's space");
      list.u16("start_row");
      list.u16("start_column");
      list.u16("block_count");
      list.want(list.last().value > 0, "is zero");
    }
    ++sections_;
    sum_ += size;
    if (!list.want(
            range_within(at, size, space_end_), field,
            of_heap_ ? "the section reaches out of the heap's space" : "reaches behind the end of the file"))
      return;
    const auto behind = taken_.lower_bound(at);
    const bool apart =
        (behind == taken_.end() || behind->first >= at + size) &&
        (behind == taken_.begin() || std::prev(behind)->first + std::prev(behind)->second <= at);
    list.want(apart, field, "the section overlaps another one");
    taken_.emplace(at, size);
  }

  const Context& context_;
  const PlaceId place_;
  const std::uint64_t address_;
  const bool of_heap_;
  const std::uint64_t space_end_;
  format::FreeSpaceManager manager_;
  std::uint64_t classes_ = 0, largest_ = 0, sections_ = 0, sum_ = 0;
  std::map<std::uint64_t, std::uint64_t> taken_;
};

}  // namespace

void check_free_space_fields(const Context& context, PlaceId place, std::uint64_t address, bool of_heap,
                             std::uint64_t space_end) {
  FreeSpaceFields(context, place, address, of_heap, space_end).run();
}

}  // namespace h5mount::check

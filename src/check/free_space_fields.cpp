// Managers of free space, of the file and of fractal heaps, and their sections.
#include <bit>

#include "fields.h"
#include "h5mount/base/checked.h"
#include "h5mount/format/free_space.h"

namespace h5mount::check {

namespace {

class FreeSpaceFields {
 public:
  FreeSpaceFields(Fields& fields, std::uint64_t address, const format::FreeSpaceManager& manager,
                  bool of_heap, std::uint64_t space_end)
      : fields_(fields), address_(address), manager_(manager), of_heap_(of_heap), space_end_(space_end) {}

  void run() {
    fields_.begin({"version"});
    fields_.u8("client").want_equal(of_heap_ ? 0 : 1, "is 0 for a heap, 1 for a file");
    const Field total = fields_.plain_length("total_space"), count = fields_.plain_length("section_count");
    const Field stored = fields_.plain_length("stored_section_count");
    const Field ghosts = fields_.plain_length("ghost_section_count");
    count.want_equal(checked_add(stored, ghosts).value_or(~0ULL), "is not that of stored and other sections");
    check_parameters();
    const Field list = fields_.address("list_address");
    const Field used = fields_.plain_length("list_bytes"), space = fields_.plain_length("list_space");
    fields_.checksum();
    list.want((list == format::kUndefinedAddress) == (stored == 0),
              "there is a list if, and only if, sections are stored");
    if (list == format::kUndefinedAddress || stored == 0) {
      total.want(total == 0 || ghosts > 0, "no section has this space");
      return;
    }
    list.want_stored();
    if (range_within(list, used, fields_.stored_end()))
      space.want(range_within(list, space, fields_.stored_end()), kReachesBehindEnd);
    if (!check_list(list, used)) return;
    stored.want_equal(sections_, "is not the number of sections in the list");
    if (ghosts == 0) total.want_equal(sum_, "is not that of the sections");
  }

 private:
  void check_parameters() {
    constexpr std::uint64_t kHeapClasses = 4, kFileClasses = 3;
    const Field classes = fields_.u16("class_count");
    classes.want(of_heap_ ? classes == kHeapClasses : classes >= 1 && classes <= kFileClasses,
                 "is not that of such a manager");
    classes_ = classes;
    const Field shrink = fields_.u16("shrink_percent"), expand = fields_.u16("expand_percent");
    shrink.want(shrink > 0 && shrink < expand, "is not between 0 and the percent to expand by");
    expand.want(expand >= 100, "is below 100");
    fields_.u16("address_bits").want_range(1, 64);
    const Field largest = fields_.plain_length("largest_section");
    largest.want_not_zero();
    largest_ = largest;
  }

  // Returns whether all of the list could be read.
  bool check_list(std::uint64_t address, std::uint64_t bytes) {
    auto list = fields_.take(address, bytes, "FreeSpaceSections");
    if (!list || manager_.address_width > 8 || bytes < 4) return false;
    list->begin({"version"});
    list->address("manager_address").want_equal(address_, "is not the manager that leads here");
    std::uint64_t size_before = 0;
    while (list->ok() && sections_ < manager_.section_count && list->remaining() > 4) {
      const Field of_size = list->uint(manager_.count_width, "section_count");
      of_size.want_not_zero();
      if (of_size == 0 || of_size > manager_.section_count - sections_) return false;
      const Field size = list->uint(manager_.size_width, "section_size");
      size.want(size > size_before, "is not above that of the sections before");
      size.want(size <= largest_, "is above the largest that is tracked");
      size.want(size < largest_ || !std::has_single_bit(largest_) || size == 0,
                "is of no bin, which are as many as the largest has bits below it");
      size_before = size;
      for (std::uint64_t i = 0; i < of_size && list->ok(); ++i) check_section(*list, size);
    }
    if (list->remaining() > 4) list->bytes(list->remaining() - 4, "unused");
    list->checksum();
    return list->ok();
  }

  void check_section(Fields& list, std::uint64_t size) {
    constexpr std::uint64_t kFirstRow = 1, kIndirect = 3;
    const Field at = list.uint(manager_.address_width, "section_address");
    const Field type = list.u8("section_class");
    type.want(type < classes_, "is no class of this manager");
    if (of_heap_ && (type == kFirstRow || type == kIndirect)) {
      const Field offset = list.uint(manager_.address_width, "indirect_block_offset");
      offset.want(offset < space_end_ || space_end_ == 0, "lies outside the heap's space");
      list.u16("start_row");
      list.u16("start_column");
      list.u16("block_count").want_not_zero();
    }
    if (!list.ok()) return;
    ++sections_;
    sum_ += size;
    if (at.want(range_within(at, size, space_end_),
                of_heap_ ? "the section reaches out of the heap's space" : kReachesBehindEnd))
      at.want(taken_.add(at, size), "the section overlaps another one");
  }

  Fields& fields_;
  const std::uint64_t address_;
  const format::FreeSpaceManager& manager_;
  const bool of_heap_;
  const std::uint64_t space_end_;
  std::uint64_t classes_ = 0, largest_ = 0, sections_ = 0, sum_ = 0;
  Ranges taken_;
};

}  // namespace

void check_free_space_fields(const Subject& subject, std::uint64_t address, bool of_heap,
                             std::uint64_t space_end) {
  auto fields =
      subject.take(address, format::free_space_manager_bytes(subject.file().sizes()), "FreeSpaceManager");
  if (!fields) return;
  if (const auto manager = fields->decoded(format::decode_free_space_manager))
    FreeSpaceFields(*fields, address, *manager, of_heap, space_end).run();
}

}  // namespace h5mount::check

// The smaller messages of object headers.
#include <algorithm>

#include "fields.h"
#include "h5mount/base/checked.h"
#include "h5mount/metadata/local_heap.h"

namespace h5mount::check {

namespace {

using format::MessageType;

void check_dataspace(Fields& message) {
  const std::uint8_t version = message.u8("version");
  const std::uint8_t rank = message.u8("rank");
  const std::uint8_t flags = message.u8("flags");
  message.want((flags & ~(version == 1 ? 0x03U : 0x01U)) == 0, "reserved bits are set");
  if (version == 1)
    message.zeros(5, "reserved");
  else
    message.u8("type");
  for (unsigned i = 0; i < rank; ++i) message.plain_length("dimension_size");
  if ((flags & 0x01) != 0)
    for (unsigned i = 0; i < rank; ++i) message.length("maximum_size");
  if (version == 1 && (flags & 0x02) != 0)
    for (unsigned i = 0; i < rank; ++i) {
      message.plain_length("permutation");
      message.want(message.last().value < rank, "is no dimension");
    }
}

// The link info and the attribute info message.
void check_info(Fields& message, std::size_t index_bytes) {
  format::LinkInfo info;
  std::optional<format::Field> most;
  constexpr std::uint8_t kTracked = 0x01, kIndexed = 0x02;
  message.u8("version");
  const std::uint8_t flags = message.u8("flags");
  message.want((flags & ~(kTracked | kIndexed)) == 0, "reserved bits are set");
  message.want((flags & (kTracked | kIndexed)) != kIndexed, "the creation order is indexed and not tracked");
  if ((flags & kTracked) != 0) {
    message.uint(index_bytes, "max_creation_index");
    message.want(index_bytes < 8 || message.last().value >> 63 == 0, "is negative");
    most = message.last();
  }
  info.fractal_heap_address = message.address("fractal_heap_address");
  message.want_stored(1, kBehindEnd);
  const bool dense = info.fractal_heap_address != format::kUndefinedAddress;
  info.name_index_address = message.address("name_index_address");
  message.want((message.last().value != format::kUndefinedAddress) == dense,
               "there is an index if, and only if, there is a heap");
  message.want_stored(1, kBehindEnd);
  if ((flags & kIndexed) != 0) {
    info.creation_order_index_address = message.address("creation_order_index_address");
    message.want((message.last().value != format::kUndefinedAddress) == dense,
                 "there is an index if, and only if, there is a heap");
    message.want_stored(1, kBehindEnd);
  }
  if (!message.ok()) return;
  if (index_bytes == 8)
    check_dense_links_fields(message.context(), message.place(), info);
  else
    check_dense_attributes_fields(message.context(), message.place(), info, most);
}

void check_fill_value(Fields& message) {
  constexpr std::uint32_t kNoSize = 0xFFFF'FFFF;
  const std::uint8_t version = message.u8("version");
  bool sized = false;
  if (version == 3) {
    const std::uint8_t flags = message.u8("flags");
    message.want((flags & 0xC0) == 0, "reserved bits are set");
    message.want((flags & 0x03) != 0 && (flags >> 2 & 0x03) != 3, "has no time of allocation or of filling");
    sized = (flags & 0x20) != 0;
  } else {
    message.u8("allocation_time");
    message.want(message.last().value >= 1 && message.last().value <= 3, "is not 1 to 3");
    message.u8("fill_time");
    message.want(message.last().value <= 2, "is not 0 to 2");
    message.u8("defined");
    message.want(message.last().value <= 1, "is neither 0 nor 1");
    sized = message.last().value != 0 || version == 1;
  }
  if (!sized || message.remaining() < 4) return;
  const std::uint32_t size = message.u32("size");
  if (size != kNoSize && size > 0) message.bytes(size, "value");
}

void check_fill_value_old(Fields& message) {
  const std::uint32_t size = message.u32("size");
  if (size > 0) message.bytes(size, "value");
}

void check_slots(Fields& message, std::uint16_t used, std::uint64_t heap_address) {
  const auto heap = metadata::LocalHeap::open(message.context().metadata, heap_address);
  for (unsigned i = 0; i < used && message.ok(); ++i) {
    message.plain_length("name_offset");
    if (heap) message.want(message.last().value < heap->segment_size(), "lies behind the heap's segment");
    message.want(message.last().value % 8 == 0, "is no multiple of 8");
    const std::uint64_t offset = message.plain_length("file_offset");
    const format::Field offset_field = message.last();
    const std::uint64_t size = message.length("size");
    message.want(size > 0, "is zero");
    message.want(size == format::kUnlimited || checked_add(offset, size).value_or(~0ULL) <= ~0ULL >> 1,
                 offset_field, "the segment's end is no number");
  }
}

void check_external_files(Fields& message) {
  message.u8("version");
  message.zeros(3, "reserved");
  const std::uint16_t allocated = message.u16("allocated_slots");
  const std::uint16_t used = message.u16("used_slots");
  message.want(used > 0, "is zero");
  const std::uint64_t heap = message.address("heap_address");
  message.want_stored(1, kBehindEnd);
  check_name_heap_fields(message.context(), message.place(), heap);
  check_slots(message, used, heap);
  const std::uint64_t unused = allocated > used ? 3ULL * message.sizes().lengths * (allocated - used) : 0;
  if (unused > 0 && message.remaining() >= unused) message.bytes(unused, "unused_slots");
}

void check_group_info(Fields& message) {
  message.u8("version");
  message.want_equal(0, "is 0 alone");
  const std::uint8_t flags = message.u8("flags");
  message.want((flags & ~0x03U) == 0, "reserved bits are set");
  if ((flags & 0x01) != 0) {
    const std::uint16_t most = message.u16("max_compact_links");
    message.u16("min_dense_links");
    message.want(message.last().value <= most + 1ULL, "is above the most compact ones");
  }
  if ((flags & 0x02) != 0) {
    message.u16("estimated_entries");
    message.u16("estimated_name_length");
  }
}

void check_time_old(Fields& message) {
  for (const auto& [name, width] : {std::pair("year", 4), std::pair("month", 2), std::pair("day", 2),
                                    std::pair("hour", 2), std::pair("minute", 2), std::pair("second", 2)}) {
    const ByteSpan digits = message.bytes(static_cast<std::uint64_t>(width), name);
    const bool all = std::ranges::all_of(
        digits, [](std::byte one) { return one >= std::byte{'0'} && one <= std::byte{'9'}; });
    message.want(all, "is not of digits");
  }
  message.zeros(2, "reserved");
}

void check_file_space(Fields& message) {
  constexpr unsigned kOld = 6, kNew = 12;
  const std::size_t lengths = message.sizes().lengths, offsets = message.sizes().offsets;
  const bool old =
      message.u8("version") == 0 && message.remaining() < 2 + 2 * lengths + 2 + (1 + kNew) * offsets;
  const std::uint8_t strategy = message.u8("strategy");
  message.want(old ? strategy >= 1 && strategy <= 4 : strategy <= 3, "is unknown");
  bool persists = strategy == 1;
  if (!old) {
    persists = message.u8("persists") == 1;
    message.want(message.last().value <= 1, "is neither 0 nor 1");
  }
  message.plain_length("threshold");
  message.want(message.last().value > 0, "is zero");
  if (!old) {
    constexpr std::uint64_t kLeastPage = 512, kMostPage = 1U << 30;
    const std::uint64_t page = message.plain_length("page_size");
    message.want(page >= kLeastPage && page <= kMostPage, "is not 512 to 2^30");
    message.u16("page_end_threshold");
    message.want(message.last().value < page, "is not below the size of a page");
    message.address("end_of_allocated_space");
    message.want_stored(0, kBehindEnd);
  }
  if (!persists && message.remaining() > 0) message.bytes(message.remaining(), "unused");
  for (unsigned left = !persists ? 0 : old ? kOld : kNew; left > 0; --left) {
    const std::uint64_t manager = message.address("manager_address");
    message.want_stored(1, kBehindEnd);
    const Context& context = message.context();
    if (message.ok()) check_free_space_fields(context, message.place(), manager, false, context.stored_end);
  }
}

void check_symbol_table(Fields& message) {
  const std::uint64_t end = message.context().stored_end;
  const std::uint64_t tree = message.address("btree_address");
  message.want(tree < end, kBehindEnd);
  const std::uint64_t heap = message.address("local_heap_address");
  message.want(heap < end, kBehindEnd);
  if (message.ok()) check_old_group_fields(message.context(), message.place(), tree, heap);
}

void check_driver_message(Fields& message) {
  message.u8("version");
  const std::string name(as_text(message.bytes(8, "driver_identification")));
  message.u16("driver_information_size");
  message.want_equal(message.remaining(), "is not that of what follows");
  check_driver_information_fields(message, name);
}

void check_reference_count(Fields& message) {
  message.u8("version");
  message.want_equal(0, "is 0 alone");
  message.u32("reference_count");
  message.want(message.last().value > 0, "nothing leads to the object");
}

void check_shared_table(Fields& message) {
  const std::uint64_t table = message.address("table_address");
  message.want_stored(1, kBehindEnd);
  const std::uint8_t count = message.u8("index_count");
  if (message.ok() && count > 0 && count <= 8) check_shared_table_fields(message.context(), table, count);
}

void check_of_extension(Fields& message, MessageType type) {
  switch (type) {
    case MessageType::SharedMessageTable:
      message.u8("version");
      return check_shared_table(message);
    case MessageType::BTreeKValues:
      message.u8("version");
      message.want_equal(0, "is 0 alone");
      for (const char* name : {"indexed_storage_k", "group_internal_k", "group_leaf_k"}) {
        message.u16(name);
        message.want(message.last().value > 0, "is zero");
      }
      return;
    case MessageType::DriverInfo:
      return check_driver_message(message);
    case MessageType::FileSpaceInfo:
      return check_file_space(message);
    default:
      message.u8("version");
      message.address("address");
      const format::Field address = message.last();
      message.plain_length("length");
      message.want_stored(address, message.last().value, "reaches behind the end of the file");
  }
}

}  // namespace

void check_shared_reference_fields(Fields& message) {
  const std::uint8_t version = message.u8("version");
  const std::uint8_t type = message.u8("type");
  // Version 2 has type 0 by the specification, and 2 by libhdf5.
  message.want(type == 2 || (version < 3 ? type == 0 : type == 1), "is no place of a shared message");
  if (version == 1) {
    message.zeros(6, "reserved");
    message.plain_length("link_name_offset");
  }
  if (version == 3 && type == 1) {
    message.bytes(8, "heap_id");
    return;
  }
  message.address("object_header_address");
  message.want(message.last().value < message.context().stored_end, kBehindEnd);
}

void check_message_fields(Fields& message, std::uint16_t number, const Owner& owner) {
  constexpr std::uint32_t kBogus = 0xdeadbeef;
  const auto type = static_cast<MessageType>(number);
  switch (type) {
    case MessageType::Dataspace:
      return check_dataspace(message);
    case MessageType::LinkInfo:
      return check_info(message, 8);
    case MessageType::AttributeInfo:
      return check_info(message, 2);
    case MessageType::Datatype:
      return check_datatype_fields(message);
    case MessageType::FillValueOld:
      return check_fill_value_old(message);
    case MessageType::FillValue:
      return check_fill_value(message);
    case MessageType::Link:
      return check_link_fields(message);
    case MessageType::ExternalDataFiles:
      return check_external_files(message);
    case MessageType::DataLayout:
      return check_layout_fields(message, owner.filters);
    case MessageType::Bogus:
      message.u32("bogus_value");
      message.want_equal(kBogus, "is not that of a bogus message");
      return;
    case MessageType::GroupInfo:
      return check_group_info(message);
    case MessageType::FilterPipeline:
      return check_filter_fields(message);
    case MessageType::Attribute:
      return check_attribute_fields(message);
    case MessageType::ObjectComment:
      (void)message.c_string("comment");
      return;
    case MessageType::ObjectModificationTimeOld:
      return check_time_old(message);
    case MessageType::SymbolTable:
      return check_symbol_table(message);
    case MessageType::ObjectModificationTime:
      message.u8("version");
      message.want_equal(1, "is 1 alone");
      message.zeros(3, "reserved");
      message.u32("seconds");
      return;
    case MessageType::ObjectReferenceCount:
      return check_reference_count(message);
    default:
      return check_of_extension(message, type);
  }
}

}  // namespace h5mount::check

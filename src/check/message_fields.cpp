// The messages of object headers, and the fields of the smaller ones.
#include "fields.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/structures.h"
#include "h5mount/metadata/local_heap.h"

namespace h5mount::check {

namespace {

void check_dataspace(Fields& message) {
  const Field version = message.u8("version"), rank = message.u8("rank"), flags = message.u8("flags");
  flags.want_flags(version == 1 ? 0x03 : 0x01);
  if (version == 1)
    message.zeros(5, "reserved");
  else
    message.u8("type");
  for (unsigned i = 0; i < rank; ++i) message.plain_length("dimension_size");
  for (unsigned i = 0; i < rank && (flags & 0x01) != 0; ++i) message.length("maximum_size");
  for (unsigned i = 0; i < rank && version == 1 && (flags & 0x02) != 0; ++i) {
    const Field dimension = message.plain_length("permutation");
    dimension.want(dimension < rank, "is no dimension");
  }
}

// The link info and the attribute info message.
void check_info(Fields& message, bool links) {
  constexpr std::uint8_t kTracked = 0x01, kIndexed = 0x02;
  format::LinkInfo info;
  std::optional<Field> most;
  message.u8("version");
  const Field flags = message.u8("flags");
  flags.want_flags(kTracked | kIndexed);
  flags.want((flags & (kTracked | kIndexed)) != kIndexed, "the creation order is indexed and not tracked");
  if ((flags & kTracked) != 0) {
    most = message.uint(links ? 8 : 2, "max_creation_index");
    most->want(*most >> 63 == 0, "is negative");
  }
  const Field heap = message.address("fractal_heap_address");
  heap.want_stored();
  const auto index = [&](std::string_view name) {
    const Field address = message.address(name);
    address.want((address == format::kUndefinedAddress) == (heap == format::kUndefinedAddress),
                 "there is an index if, and only if, there is a heap");
    address.want_stored();
    return address.value;
  };
  info.fractal_heap_address = heap;
  info.name_index_address = index("name_index_address");
  if ((flags & kIndexed) != 0) info.creation_order_index_address = index("creation_order_index_address");
  if (!message.ok()) return;
  links ? check_dense_links_fields(message, info) : check_dense_attributes_fields(message, info, most);
}

void check_fill_value(Fields& message) {
  constexpr std::uint32_t kNoSize = 0xFFFF'FFFF;
  const Field version = message.u8("version");
  bool sized = false;
  if (version == 3) {
    const Field flags = message.u8("flags");
    flags.want_flags(0x3F);
    flags.want((flags & 0x03) != 0 && (flags >> 2 & 0x03) != 3, "has no time of allocation or of filling");
    sized = (flags & 0x20) != 0;
  } else {
    message.u8("allocation_time").want_range(1, 3);
    message.u8("fill_time").want_range(0, 2);
    const Field defined = message.u8("defined");
    defined.want_bit();
    sized = defined != 0 || version == 1;
  }
  if (!sized || message.remaining() < 4) return;
  const Field size = message.u32("size");
  if (size != kNoSize) message.bytes(size, "value");
}

void check_external_files(Fields& message) {
  message.u8("version");
  message.zeros(3, "reserved");
  const Field allocated = message.u16("allocated_slots"), used = message.u16("used_slots");
  used.want_not_zero();
  const Field heap_address = message.address("heap_address");
  heap_address.want_stored();
  check_name_heap_fields(message, heap_address);
  const auto heap = metadata::LocalHeap::open(message.context->metadata, heap_address);
  for (unsigned i = 0; i < used && message.ok(); ++i) {
    const Field name = message.plain_length("name_offset");
    if (heap) name.want(name < heap->segment_size(), "lies behind the heap's segment");
    name.want(name % 8 == 0, "is no multiple of 8");
    const Field offset = message.plain_length("file_offset"), size = message.length("size");
    size.want_not_zero();
    offset.want(size == format::kUnlimited || checked_add(offset, size).value_or(~0ULL) <= ~0ULL >> 1,
                "the segment's end is no number");
  }
  const std::uint64_t unused = allocated > used ? 3ULL * message.sizes().lengths * (allocated - used) : 0;
  if (message.remaining() >= unused) message.bytes(unused, "unused_slots");
}

void check_group_info(Fields& message) {
  message.u8("version").want_zero();
  const Field flags = message.u8("flags");
  flags.want_flags(0x03);
  if ((flags & 0x01) != 0) {
    const Field most = message.u16("max_compact_links"), least = message.u16("min_dense_links");
    least.want(least <= most + 1, "is above the most compact ones");
  }
  if ((flags & 0x02) != 0) {
    message.u16("estimated_entries");
    message.u16("estimated_name_length");
  }
}

void check_time_old(Fields& message) {
  for (const char* name : {"year", "month", "day", "hour", "minute", "second"}) {
    const std::string_view digits = as_text(message.bytes(name[0] == 'y' ? 4 : 2, name));
    message.last().want(digits.find_first_not_of("0123456789") == std::string_view::npos, "is not of digits");
  }
  message.zeros(2, "reserved");
}

void check_time(Fields& message) {
  message.u8("version").want_equal(1, "is 1 alone");
  message.zeros(3, "reserved");
  message.u32("seconds");
}

void check_file_space(Fields& message) {
  constexpr unsigned kOld = 6, kNew = 12;
  const std::size_t lengths = message.sizes().lengths, offsets = message.sizes().offsets;
  const bool old =
      message.u8("version") == 0 && message.remaining() < 2 + 2 * lengths + 2 + (1 + kNew) * offsets;
  const Field strategy = message.u8("strategy");
  strategy.want(old ? strategy >= 1 && strategy <= 4 : strategy <= 3, "is unknown");
  bool persists = strategy == 1;
  if (!old) {
    const Field stated = message.u8("persists");
    stated.want_bit();
    persists = stated == 1;
  }
  message.plain_length("threshold").want_not_zero();
  if (!old) {
    constexpr std::uint64_t kLeastPage = 512, kMostPage = 1U << 30;
    const Field page = message.plain_length("page_size"), end = message.u16("page_end_threshold");
    page.want(page >= kLeastPage && page <= kMostPage, "is not 512 to 2^30");
    end.want(end < page, "is not below the size of a page");
    message.address("end_of_allocated_space").want_stored(0);
  }
  if (!persists) message.rest("unused");
  for (unsigned left = !persists ? 0 : old ? kOld : kNew; left > 0; --left) {
    const Field manager = message.address("manager_address");
    manager.want_stored();
    if (message.ok()) check_free_space_fields(message, manager, false, message.stored_end());
  }
}

void check_symbol_table(Fields& message) {
  const Field tree = message.address("btree_address"), heap = message.address("local_heap_address");
  tree.want_defined();
  heap.want_defined();
  if (message.ok()) check_old_group_fields(message, tree, heap);
}

void check_driver_message(Fields& message) {
  message.u8("version");
  const std::string name(as_text(message.bytes(8, "driver_identification")));
  message.u16("driver_information_size").want_equal(message.remaining(), "is not that of what follows");
  check_driver_information_fields(message, name);
}

void check_reference_count(Fields& message) {
  message.u8("version").want_zero();
  const Field count = message.u32("reference_count");
  count.want(count > 0, "nothing leads to the object");
}

void check_shared_table(Fields& message) {
  message.u8("version");
  const Field table = message.address("table_address");
  table.want_stored();
  const Field count = message.u8("index_count");
  if (count > 0 && count <= 8) check_shared_table_fields(message, table, count);
}

void check_k_values(Fields& message) {
  message.u8("version").want_zero();
  for (const char* name : {"indexed_storage_k", "group_internal_k", "group_leaf_k"})
    message.u16(name).want_not_zero();
}

void check_cache_image(Fields& message) {
  message.u8("version");
  const Field address = message.address("address"), length = message.plain_length("length");
  address.want_stored(length, kReachesBehindEnd);
}

// By their types.
constexpr MessageForm kForms[] = {
    {"NilMessage", nullptr, MessageForm::kRepeats | MessageForm::kOpaque},
    {structures::kDataspaceMessage, check_dataspace, MessageForm::kShareable},
    {structures::kLinkInfoMessage, [](Fields& message) { check_info(message, true); }},
    {structures::kDatatypeMessage, check_datatype_fields, MessageForm::kShareable},
    {"FillValueOldMessage", [](Fields& message) { message.bytes(message.u32("size"), "value"); },
     MessageForm::kShareable},
    {"FillValueMessage", check_fill_value, MessageForm::kShareable},
    {structures::kLinkMessage, check_link_fields, MessageForm::kRepeats},
    {"ExternalDataFilesMessage", check_external_files},
    {structures::kDataLayoutMessage, nullptr},
    {"BogusMessage",
     [](Fields& message) {
       message.u32("bogus_value").want_equal(0xdeadbeef, "is not that of a bogus message");
     },
     MessageForm::kRepeats},
    {"GroupInfoMessage", check_group_info},
    {structures::kFilterPipelineMessage, check_filter_fields, MessageForm::kShareable},
    {"AttributeMessage", check_attribute_fields, MessageForm::kRepeats | MessageForm::kShareable},
    {"ObjectCommentMessage", [](Fields& message) { (void)message.c_string("comment"); }},
    {"ObjectModificationTimeOldMessage", check_time_old},
    {"SharedMessageTableMessage", check_shared_table, MessageForm::kOfExtension},
    {structures::kObjectHeaderContinuationMessage, nullptr, MessageForm::kRepeats},
    {structures::kSymbolTableMessage, check_symbol_table},
    {"ObjectModificationTimeMessage", check_time},
    {"BTreeKValuesMessage", check_k_values, MessageForm::kOfExtension},
    {"DriverInfoMessage", check_driver_message, MessageForm::kOfExtension},
    {"AttributeInfoMessage", [](Fields& message) { check_info(message, false); }},
    {"ObjectReferenceCountMessage", check_reference_count},
    {"FileSpaceInfoMessage", check_file_space, MessageForm::kOfExtension},
    {"MetadataCacheImageMessage", check_cache_image, MessageForm::kOfExtension}};
static_assert(std::size(kForms) == format::kLastKnownMessageType + 1);

}  // namespace

const MessageForm& message_form(std::uint64_t type) {
  static constexpr MessageForm kUnknown{"UnknownMessage", nullptr,
                                        MessageForm::kRepeats | MessageForm::kOpaque};
  return type < std::size(kForms) ? kForms[type] : kUnknown;
}

void check_shared_reference_fields(Fields& message) {
  const Field version = message.u8("version"), type = message.u8("type");
  // Version 2 has type 0 by the specification, and 2 by libhdf5.
  type.want(type == 2 || (version < 3 ? type == 0 : type == 1), "is no place of a shared message");
  if (version == 1) {
    message.zeros(6, "reserved");
    message.plain_length("link_name_offset");
  }
  if (version == 3 && type == 1)
    message.bytes(8, "heap_id");
  else
    message.address("object_header_address").want_defined();
}

}  // namespace h5mount::check

// The superblock, the driver's information, and the superblock extension.
#include <algorithm>

#include "fields.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/superblock.h"

namespace h5mount::check {

namespace {

constexpr std::string_view kSuperblock = structures::kSuperblock, kDriver = "DriverInformationBlock";

// What readers need of these numbers they have decoded; here it is only checked.
void check_addresses(Fields& block, bool old) {
  const Context& context = block.context();
  const std::uint64_t at = context.metadata->base_address();
  block.address("base_address");
  block.want_equal(at, "the superblock lies elsewhere");
  if (old) {
    block.address("free_space_address");
    block.want_equal(format::kUndefinedAddress, "the format has no such structure");
  } else {
    block.address("superblock_extension_address");
    block.want_stored(1, kBehindEnd);
    block.want(block.last().value == format::kUndefinedAddress ||
                   block.last().value != context.metadata->root_address(),
               "is the root group");
  }
  block.address("end_of_file_address");
}

void check_root(Fields& block) {
  const Context& context = block.context();
  const auto root = object::open_object(*context.metadata, context.metadata->root_address());
  block.want(!root || root->kind == object::ObjectKind::Group, "leads to no group");
}

// The scratch pad of a group's entry repeats what the group's symbol table message says.
void check_root_entry(Fields& block) {
  block.plain_length("root.link_name_offset");
  block.want_equal(0, "the root has no name");
  block.address("root.object_header_address");
  check_root(block);
  const std::uint32_t type = block.u32("root.cache_type");
  block.want(type <= 1, "is 0 or 1 for a group");
  block.zeros(4, "root.reserved");
  check_scratch_fields(block, type, block.context().metadata->root_address(), true);
}

void check_old(Fields& block, unsigned version) {
  constexpr std::uint32_t kFlags = 0x03;
  block.u8("free_space_version");
  block.want_equal(0, "is 0 alone");
  block.u8("root_entry_version");
  block.want_equal(0, "is 0 alone");
  block.zeros(1, "reserved");
  block.u8("shared_header_version");
  block.want_equal(0, "is 0 alone");
  block.u8("size_of_offsets");
  block.u8("size_of_lengths");
  block.set_sizes(block.context().metadata->sizes());
  block.zeros(1, "reserved");
  block.u16("group_leaf_k");
  block.u16("group_internal_k");
  block.u32("file_consistency_flags");
  block.want((block.last().value & ~std::uint64_t{kFlags}) == 0, "reserved bits are set");
  if (version == 1) {
    block.u16("indexed_storage_k");
    block.zeros(2, "reserved");
  }
  check_addresses(block, true);
  block.address("driver_info_address");
  block.want_stored(format::kDriverInfoHeaderBytes, kBehindEnd);
  check_root_entry(block);
}

void check_new(Fields& block, unsigned version) {
  const std::uint64_t flags = version == 2 ? 0x03 : 0x07;  // 3 adds the writer with SWMR
  block.u8("size_of_offsets");
  block.u8("size_of_lengths");
  block.set_sizes(block.context().metadata->sizes());
  block.u8("file_consistency_flags");
  block.want((block.last().value & ~flags) == 0, "reserved bits are set");
  block.want((block.last().value & 0x05) != 0x04, "a SWMR writer has the file open, and nobody to write");
  check_addresses(block, false);
  block.address("root_group_object_header_address");
  check_root(block);
  block.checksum();
}

void check_driver(const Context& context, std::uint64_t address) {
  const auto start = context.metadata->read_up_to(address, format::kDriverInfoHeaderBytes, kDriver);
  if (!start) return;
  format::Cursor cursor = start->cursor(kDriver);
  const auto bytes = format::decode_driver_info_block_bytes(cursor);
  const auto block = bytes ? take_structure(context, address, *bytes, kDriver) : std::nullopt;
  if (!block) return;
  Fields fields(context, Places::kRoot, block->cursor(kDriver));
  fields.u8("version");
  fields.zeros(3, "reserved");
  fields.u32("driver_information_size");
  const std::string_view name = as_text(fields.bytes(8, "driver_identification"));
  check_driver_information_fields(fields, name);
}

}  // namespace

void check_driver_information_fields(Fields& fields, std::string_view name) {
  if (name == "NCSAfami") {
    fields.uint(8, "member_size");
    fields.want(fields.last().value > 0, "is zero");
  } else if (name == "NCSAmult") {
    for (int i = 0; i < 6; ++i) {
      fields.u8("member_mapping");
      fields.want(fields.last().value <= 6, "is not 1 to 6");
    }
    fields.zeros(2, "reserved");
    fields.bytes(fields.remaining(), "members");
  } else {
    fields.want(!name.starts_with("NCSA"), "no driver of the format has this name");
    fields.bytes(fields.remaining(), "driver_information");
  }
}

void check_superblock_fields(const Context& context) {
  const format::Superblock& known = context.metadata->superblock();
  const auto block = take_structure(context, 0, known.bytes, kSuperblock);
  if (!block) return;
  Fields fields(context, Places::kRoot, block->cursor(kSuperblock));
  fields.signature(8);
  fields.u8("version");
  known.version < 2 ? check_old(fields, known.version) : check_new(fields, known.version);
  if (known.driver_info_address != format::kUndefinedAddress)
    check_driver(context, known.driver_info_address);
  if (known.extension_address != format::kUndefinedAddress &&
      known.extension_address != context.metadata->root_address())
    check_header_fields(context, Places::kRoot, known.extension_address, true);
}

}  // namespace h5mount::check

// The superblock, the driver's information, and the superblock extension.
#include "fields.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/superblock.h"

namespace h5mount::check {

namespace {

constexpr std::string_view kSuperblock = structures::kSuperblock, kDriver = "DriverInformationBlock";

// Readers have decoded the numbers that they need; here they are only checked.
void check_addresses(Fields& block, bool old) {
  block.address("base_address").want_equal(block.file().base_address(), "the superblock lies elsewhere");
  if (old) {
    block.address("free_space_address")
        .want_equal(format::kUndefinedAddress, "the format has no such structure");
  } else {
    const Field extension = block.address("superblock_extension_address");
    extension.want_stored();
    extension.want(extension == format::kUndefinedAddress || extension != block.file().root_address(),
                   "is the root group");
  }
  block.address("end_of_file_address");
}

void check_root(const Field& address) {
  const auto root = object::open_object(address.file(), address.file().root_address());
  address.want(!root || root->kind == object::ObjectKind::Group, "leads to no group");
}

void check_old(Fields& block, unsigned version) {
  block.u8("free_space_version").want_zero();
  block.u8("root_entry_version").want_zero();
  block.zeros(1, "reserved");
  block.u8("shared_header_version").want_zero();
  block.u8("size_of_offsets");
  block.u8("size_of_lengths");
  block.set_sizes(block.file().sizes());
  block.zeros(1, "reserved");
  block.u16("group_leaf_k");
  block.u16("group_internal_k");
  block.u32("file_consistency_flags").want_flags(0x03);
  if (version == 1) {
    block.u16("indexed_storage_k");
    block.zeros(2, "reserved");
  }
  check_addresses(block, true);
  block.address("driver_info_address").want_stored(format::kDriverInfoHeaderBytes);
  block.plain_length("root.link_name_offset").want_equal(0, "the root has no name");
  check_root(block.address("root.object_header_address"));
  const Field type = block.u32("root.cache_type");
  type.want(type <= 1, "is 0 or 1 for a group");
  block.zeros(4, "root.reserved");
  // The scratch pad of a group's entry repeats what the group's symbol table message says.
  check_scratch_fields(block, type, block.file().root_address(), true);
}

void check_new(Fields& block, unsigned version) {
  block.u8("size_of_offsets");
  block.u8("size_of_lengths");
  block.set_sizes(block.file().sizes());
  const Field flags = block.u8("file_consistency_flags");
  flags.want_flags(version == 2 ? 0x03 : 0x07);  // 3 adds the writer with SWMR
  flags.want((flags & 0x05) != 0x04, "a SWMR writer has the file open, and nobody to write");
  check_addresses(block, false);
  check_root(block.address("root_group_object_header_address"));
  block.checksum();
}

void check_driver(const Subject& subject, std::uint64_t address) {
  const auto start = subject.file().read_up_to(address, format::kDriverInfoHeaderBytes, kDriver);
  if (!start) return;
  format::Cursor cursor = start->cursor(kDriver);
  const auto bytes = format::decode_driver_info_block_bytes(cursor);
  auto fields = bytes ? subject.take(address, *bytes, kDriver) : std::nullopt;
  if (!fields) return;
  fields->u8("version");
  fields->zeros(3, "reserved");
  fields->u32("driver_information_size");
  const std::string_view name = as_text(fields->bytes(8, "driver_identification"));
  check_driver_information_fields(*fields, name);
}

}  // namespace

void check_driver_information_fields(Fields& fields, std::string_view name) {
  if (name == "NCSAfami") {
    fields.uint(8, "member_size").want_not_zero();
  } else if (name == "NCSAmult") {
    for (int i = 0; i < 6; ++i) {
      const Field member = fields.u8("member_mapping");
      member.want(member <= 6, "is not 1 to 6");
    }
    fields.zeros(2, "reserved");
    fields.rest("members");
  } else {
    fields.last().want(!name.starts_with("NCSA"), "no driver of the format has this name");
    fields.rest("driver_information");
  }
}

void check_superblock_fields(const Context& context) {
  const Subject subject{&context};
  const format::Superblock& known = context.metadata->superblock();
  auto fields = subject.take(0, known.bytes, kSuperblock);
  if (!fields) return;
  (void)fields->bytes(8, "signature");
  fields->u8("version");
  known.version < 2 ? check_old(*fields, known.version) : check_new(*fields, known.version);
  if (known.driver_info_address != format::kUndefinedAddress)
    check_driver(subject, known.driver_info_address);
  if (known.extension_address != format::kUndefinedAddress &&
      known.extension_address != context.metadata->root_address())
    check_header_fields(subject, known.extension_address, true);
}

}  // namespace h5mount::check

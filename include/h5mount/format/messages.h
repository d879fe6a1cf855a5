// The smaller header messages, one struct and one decoder each (specification IV.A.2). A decoder takes a
// cursor over the message's body.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "h5mount/format/cursor.h"
#include "h5mount/format/datatype.h"

namespace h5mount::format {

enum class MessageType : std::uint16_t {
  Nil = 0x00,
  Dataspace = 0x01,
  LinkInfo = 0x02,
  Datatype = 0x03,
  FillValueOld = 0x04,
  FillValue = 0x05,
  Link = 0x06,
  ExternalDataFiles = 0x07,
  DataLayout = 0x08,
  Bogus = 0x09,
  GroupInfo = 0x0A,
  FilterPipeline = 0x0B,
  Attribute = 0x0C,
  ObjectComment = 0x0D,
  ObjectModificationTimeOld = 0x0E,
  SharedMessageTable = 0x0F,
  ObjectHeaderContinuation = 0x10,
  SymbolTable = 0x11,
  ObjectModificationTime = 0x12,
  BTreeKValues = 0x13,
  DriverInfo = 0x14,
  AttributeInfo = 0x15,
  ObjectReferenceCount = 0x16,
  FileSpaceInfo = 0x17,
  MetadataCacheImage = 0x18,
};
inline constexpr auto kLastKnownMessageType = static_cast<std::uint16_t>(MessageType::MetadataCacheImage);

// Bogus is a type of libhdf5's own tests, which no reader knows.
constexpr bool is_defined(MessageType type) {
  return static_cast<std::uint16_t>(type) <= kLastKnownMessageType && type != MessageType::Bogus;
}
// Whether a message of this type and these flags (bit 7: fail always if unknown) forbids the use of what has
// it.
constexpr bool must_be_understood(std::uint16_t type, std::uint8_t flags) {
  return !is_defined(static_cast<MessageType>(type)) && (flags & 0x80) != 0;
}

// Link message, IV.A.2.g
enum class LinkType : std::uint8_t { Hard = 0, Soft = 1, External = 64 };  // 65..255: user-defined
struct Link {
  std::string name;
  std::uint8_t type = 0;                      // LinkType, or a user-defined class
  std::uint64_t address = kUndefinedAddress;  // Hard: the object header
  std::string target;  // Soft: the path; External: the object's path; of a user-defined class: its data
  std::string file;    // External: the file's name
  // External: version and flags as stored. None but zeros are known; what has others is named, not followed.
  std::uint8_t external_form = 0;
  std::optional<std::int64_t> creation_order;
  CharacterSet charset = CharacterSet::Ascii;
  bool is(LinkType t) const { return type == static_cast<std::uint8_t>(t); }
};
Result<Link> decode_link(Cursor& cursor);
// The reason why an external link is not followed, if its form is none that is known.
std::optional<Error> unknown_external_form(const Link& link);

// Link info message, IV.A.2.c
struct LinkInfo {
  bool creation_order_tracked = false, creation_order_indexed = false;
  std::uint64_t fractal_heap_address = kUndefinedAddress;  // undefined: all are compact
  std::uint64_t name_index_address = kUndefinedAddress;
  std::uint64_t creation_order_index_address = kUndefinedAddress;
};
Result<LinkInfo> decode_link_info(Cursor& cursor);

// Attribute info message, IV.A.2.v: the same fields for attributes
using AttributeInfo = LinkInfo;
Result<AttributeInfo> decode_attribute_info(Cursor& cursor);

// Symbol table message, IV.A.2.r
struct SymbolTableMessage {
  std::uint64_t btree_address = kUndefinedAddress;
  std::uint64_t local_heap_address = kUndefinedAddress;
};
Result<SymbolTableMessage> decode_symbol_table_message(Cursor& cursor);

// Fill value messages, IV.A.2.e and f, as one
enum class FillTime : std::uint8_t { Alloc = 0, Never = 1, IfSet = 2 };
struct FillValue {
  bool defined =
      false;  // false: undefined (reads return zeros); true with an empty value: the default, zeros
  std::vector<std::byte> value;  // file datatype, or empty
  FillTime time = FillTime::IfSet;
  std::uint8_t allocation_time = 0;  // 1 early, 2 late, 3 incremental
};
Result<FillValue> decode_fill_value(Cursor& cursor);
Result<FillValue> decode_fill_value_old(Cursor& cursor);

// External data files message, IV.A.2.h. Names are offsets into a local heap, resolved by `object`.
struct ExternalFileSlot {
  std::uint64_t name_offset = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t size = 0;  // bytes; kUnlimited
};
struct ExternalDataFiles {
  std::uint64_t heap_address = kUndefinedAddress;
  std::vector<ExternalFileSlot> slots;
};
Result<ExternalDataFiles> decode_external_data_files(Cursor& cursor);

// The parts of an attribute message (IV.A.2.m), shared types and spaces not yet resolved. Spans point into
// the body.
struct AttributeParts {
  std::uint8_t version = 0;
  std::string name;
  CharacterSet charset = CharacterSet::Ascii;
  bool shared_datatype = false, shared_dataspace = false;
  ByteSpan datatype, dataspace, data;
  std::uint64_t datatype_offset = 0, dataspace_offset = 0, data_offset = 0;  // absolute file offsets
};
Result<AttributeParts> decode_attribute(Cursor& cursor);

// A message stored elsewhere (IV.A.2 "shared message"): in an object header, or in the shared message heap.
struct SharedMessageReference {
  bool in_heap = false;
  std::uint64_t header_address = kUndefinedAddress;
  std::uint64_t heap_id = 0;  // the 8 id bytes, little-endian
};
Result<SharedMessageReference> decode_shared_reference(Cursor& cursor);

// Modification times, IV.A.2.o (old: fourteen ASCII digits) and s: seconds since 1970.
Result<std::int64_t> decode_modification_time(Cursor& cursor);
Result<std::int64_t> decode_modification_time_old(Cursor& cursor);
Result<std::string> decode_comment(Cursor& cursor);
Result<std::uint32_t> decode_reference_count(Cursor& cursor);

}  // namespace h5mount::format

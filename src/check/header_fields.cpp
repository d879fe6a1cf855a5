// Object headers of both versions, with their continuations.
#include <algorithm>
#include <deque>
#include <set>
#include <unordered_set>

#include "fields.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/object_header_format.h"

namespace h5mount::check {

namespace {

using format::MessageType;

constexpr std::string_view kHeader = structures::kObjectHeader,
                           kContinuation = structures::kObjectHeaderContinuation;

enum MessageFlag : std::uint8_t {
  kShared = 0x02,
  kDoNotShare = 0x04,
  kFailIfUnknown = 0x08,
  kMarkIfUnknown = 0x10,
  kWasUnknown = 0x20,
};

std::string_view name_of(std::uint16_t type) {
  static constexpr std::string_view kNames[] = {"NilMessage",
                                                structures::kDataspaceMessage,
                                                structures::kLinkInfoMessage,
                                                structures::kDatatypeMessage,
                                                "FillValueOldMessage",
                                                "FillValueMessage",
                                                structures::kLinkMessage,
                                                "ExternalDataFilesMessage",
                                                structures::kDataLayoutMessage,
                                                "BogusMessage",
                                                "GroupInfoMessage",
                                                structures::kFilterPipelineMessage,
                                                "AttributeMessage",
                                                "ObjectCommentMessage",
                                                "ObjectModificationTimeOldMessage",
                                                "SharedMessageTableMessage",
                                                structures::kObjectHeaderContinuationMessage,
                                                structures::kSymbolTableMessage,
                                                "ObjectModificationTimeMessage",
                                                "BTreeKValuesMessage",
                                                "DriverInfoMessage",
                                                "AttributeInfoMessage",
                                                "ObjectReferenceCountMessage",
                                                "FileSpaceInfoMessage",
                                                "MetadataCacheImageMessage"};
  return type < std::size(kNames) ? kNames[type] : "UnknownMessage";
}

bool may_repeat(MessageType type) {
  return type == MessageType::Nil || type == MessageType::Link || type == MessageType::Attribute ||
         type == MessageType::ObjectHeaderContinuation || type == MessageType::Bogus;
}
bool is_shareable(MessageType type) {
  return type == MessageType::Dataspace || type == MessageType::Datatype ||
         type == MessageType::FillValueOld || type == MessageType::FillValue ||
         type == MessageType::FilterPipeline || type == MessageType::Attribute;
}
bool is_of_extension(MessageType type) {
  return type == MessageType::SharedMessageTable || type == MessageType::BTreeKValues ||
         type == MessageType::DriverInfo || type == MessageType::FileSpaceInfo ||
         type == MessageType::MetadataCacheImage;
}

class HeaderFields {
 public:
  HeaderFields(const Context& context, PlaceId place, const Owner& owner)
      : context_(context), place_(place), owner_(owner), largest_(owner.max_creation_index) {}

  void run() {
    constexpr std::uint64_t kPrefix = 64;
    const auto start = context_.metadata->read_up_to(owner_.address, kPrefix, kHeader);
    if (!start) return;
    format::Cursor cursor = start->cursor(kHeader);
    const auto prefix = format::decode_object_header_prefix(cursor);
    if (!prefix) return;
    prefix_ = *prefix;
    owner_.header_version = prefix_.version;
    const std::uint64_t whole = prefix_.prefix_bytes + prefix_.chunk0_bytes + checksum_bytes();
    const auto block = take_structure(context_, owner_.address, whole, kHeader);
    if (!block) return;
    Fields header(context_, place_, block->cursor(kHeader));
    prefix_.version == 1 ? check_prefix_1(header) : check_prefix_2(header);
    check_messages(header);
    const std::size_t in_first = count_;
    while (!pending_.empty() && context_.tally.go_on()) check_continuation();
    check_count(in_first);
    largest_.finish();
  }

 private:
  std::size_t checksum_bytes() const { return format::header_checksum_bytes(prefix_.version); }
  std::size_t message_header_bytes() const {
    return prefix_.version == 1 ? 8 : prefix_.tracks_creation_order() ? 6 : 4;
  }

  void check_prefix_1(Fields& header) {
    header.u8("version");
    header.zeros(1, "reserved");
    header.u16("message_count");
    count_field_ = header.last();
    header.u32("reference_count");
    header.want(header.last().value > 0, "nothing leads to the object");
    header.u32("header_size");
    header.want(header.last().value % 8 == 0, "is no multiple of 8");
    header.bytes(4, "padding");
  }

  void check_prefix_2(Fields& header) {
    constexpr std::uint8_t kTracked = 0x04, kIndexed = 0x08;
    header.signature();
    header.u8("version");
    const std::uint8_t flags = header.u8("flags");
    header.want((flags & (kTracked | kIndexed)) != kIndexed,
                "the creation order of attributes is indexed and not tracked");
    if ((flags & 0x20) != 0)
      for (const char* time : {"access_time", "modification_time", "change_time", "birth_time"})
        header.u32(time);
    if ((flags & 0x10) != 0) {
      const std::uint16_t most = header.u16("max_compact_attributes");
      header.u16("min_dense_attributes");
      header.want(header.last().value <= most + 1ULL, "is above the most compact ones");
    }
    header.uint(std::size_t{1} << (flags & 0x03), "size_of_chunk_0");
  }

  void check_continuation() {
    const auto [address, length] = pending_.front();
    pending_.pop_front();
    const auto block = take_structure(context_, address, length, kContinuation);
    if (!block) return;
    Fields chunk(context_, place_, block->cursor(kContinuation));
    if (prefix_.version != 1) chunk.signature();
    check_messages(chunk);
  }

  // In a chunk with a NIL message there is no reason for a gap, and no gap has room for a message.
  void check_messages(Fields& chunk) {
    bool nil = false;
    while (chunk.ok() && chunk.remaining() >= message_header_bytes() + checksum_bytes())
      if (!check_message(chunk, nil)) return;
    const std::size_t gap = chunk.remaining() - std::min(chunk.remaining(), checksum_bytes());
    if (gap > 0) {
      chunk.bytes(gap, "gap");
      format::Field field = chunk.last();
      field.value = gap;
      chunk.want(prefix_.version != 1 && !nil, field,
                 nil ? "a chunk with a NIL message has no gap" : "messages do not end with the chunk");
    }
    if (prefix_.version != 1) chunk.checksum();
  }

  bool check_message(Fields& chunk, bool& nil) {
    const std::uint16_t number = prefix_.version == 1 ? chunk.u16("message.type") : chunk.u8("message.type");
    const auto type = static_cast<MessageType>(number);
    const format::Field type_field = chunk.last();
    const std::uint16_t size = chunk.u16("message.size");
    if (prefix_.version == 1) chunk.want(size % 8 == 0, "is no multiple of 8");
    const std::uint8_t flags = chunk.u8("message.flags");
    check_flags(chunk, type, flags);
    if (prefix_.version == 1) chunk.zeros(3, "message.reserved");
    if (prefix_.tracks_creation_order()) check_creation_order(chunk, type);
    ++count_;
    nil = nil || type == MessageType::Nil;
    if (size > chunk.remaining() - std::min(chunk.remaining(), checksum_bytes())) return false;
    check_type(chunk, type, type_field);
    Fields body = chunk.part(size, name_of(number));
    check_body(body, type, number, flags);
    return true;
  }

  void check_type(Fields& chunk, MessageType type, const format::Field& field) {
    if (!may_repeat(type) && static_cast<std::uint16_t>(type) <= format::kLastKnownMessageType)
      chunk.want(seen_.insert(type).second, field, "a header has one message of this type alone");
    chunk.want(owner_.extension || !is_of_extension(type), field,
               "only the superblock's extension has such a message");
    chunk.want(type != MessageType::ObjectReferenceCount || prefix_.version != 1, field,
               "headers of version 1 have no such message");
  }

  void check_flags(Fields& chunk, MessageType type, std::uint8_t flags) {
    const auto has = [&](std::uint8_t all) { return (flags & all) == all; };
    chunk.want(!has(kShared | kDoNotShare), "a message is shared that should not be");
    chunk.want((flags & kShared) == 0 || is_shareable(type), "no message of this type is shared");
    chunk.want(!has(kWasUnknown | kFailIfUnknown),
               "software that did not know the message has changed the object, and should have failed");
    chunk.want((flags & kWasUnknown) == 0 || (flags & kMarkIfUnknown) != 0,
               "is marked as unknown, which nothing asks for");
  }

  // Attributes count within the object; of other messages it is not used.
  void check_creation_order(Fields& chunk, MessageType type) {
    const bool counts = type == MessageType::Attribute;
    const std::uint16_t order =
        chunk.u16(counts ? "message.creation_order" : "message.creation_order.unused");
    if (!counts) return;
    const format::Field field = chunk.last();
    if (chunk.want(orders_.insert(order).second, field, "another attribute has the same"))
      largest_.take(chunk, field);
  }

  void check_body(Fields& body, MessageType type, std::uint16_t number, std::uint8_t flags) {
    if (type == MessageType::Nil || number > format::kLastKnownMessageType) {
      if (body.remaining() > 0) body.bytes(body.remaining(), "body");
      return;
    }
    if ((flags & kShared) != 0) {
      check_shared_reference_fields(body);
    } else if (type == MessageType::ObjectHeaderContinuation) {
      const std::uint64_t address = body.address("offset");
      const format::Field offset = body.last();
      const std::uint64_t length = body.plain_length("length");
      if (body.want_stored(offset, length, "reaches behind the end of the file") &&
          pending_.size() < limits::kMaxHeaderChunks)
        pending_.emplace_back(address, length);
    } else {
      check_message_fields(body, number, owner_);
    }
    check_rest(body);
  }

  // Version 1 fills messages with zeros to a multiple of 8; version 2 has nothing behind them. Writers of
  // both left layouts and datatypes that had been longer in their place.
  void check_rest(Fields& body) {
    const std::size_t rest = body.remaining();
    if (rest == 0 || !body.ok()) return;
    const std::string_view name = body.structure();
    if (prefix_.version == 1) {
      if (name == structures::kDataLayoutMessage)
        body.bytes(rest, "unused");
      else
        body.zeros(rest, "padding");
      return;
    }
    if (name == structures::kDatatypeMessage) return body.zeros(rest, "trailing_bytes");
    body.bytes(rest, "trailing_bytes");
    format::Field field = body.last();
    field.value = rest;
    body.want(false, field, "bytes lie behind the message");
  }

  // A writer of old counted wrongly where it joined messages of several chunks; libhdf5 reads such headers.
  void check_count(std::size_t in_first) {
    if (prefix_.version != 1 || count_ <= count_field_.value) return;
    const Error error = Error(ErrorCode::InvalidValue, kHeader, count_field_.name, count_field_.offset)
                            .with_found(count_field_.value)
                            .with_expected(count_)
                            .with_detail("the header has more messages");
    if (in_first > count_field_.value)
      context_.disagrees(place_, error);
    else
      context_.note(place_, error);
  }

  const Context& context_;
  const PlaceId place_;
  Owner owner_;
  format::ObjectHeaderPrefix prefix_;
  format::Field count_field_;
  std::size_t count_ = 0;
  std::deque<std::pair<std::uint64_t, std::uint64_t>> pending_;
  std::set<MessageType> seen_;
  std::unordered_set<std::uint16_t> orders_;
  LargestOrder largest_;
};

// The number of filters of a dataset; 32 where it is not known.
std::size_t filters_of(const Context& context, const metadata::ObjectHeader& header) {
  constexpr std::size_t kMost = 32;
  const auto* message = header.find(MessageType::FilterPipeline);
  if (message == nullptr) return header.damage ? kMost : 0;
  const auto resolved = metadata::resolve_message(*context.metadata, *message);
  if (!resolved) return kMost;
  format::Cursor cursor = resolved->cursor(structures::kFilterPipelineMessage);
  const auto pipeline = format::decode_filter_pipeline(cursor);
  return pipeline ? pipeline->filters.size() : kMost;
}

}  // namespace

void check_header_fields(const Context& context, PlaceId place, std::uint64_t address, bool extension) {
  Owner owner{.address = address, .extension = extension, .max_creation_index = {}};
  if (const auto header = metadata::load_object_header(*context.metadata, address)) {
    owner.filters = filters_of(context, **header);
    if (const auto* message = (*header)->find(MessageType::AttributeInfo)) {
      format::Cursor cursor = message->cursor("AttributeInfoMessage");
      cursor.version(0, 0);
      if ((cursor.u8("flags") & 0x01) != 0) {
        cursor.u16("max_creation_index");
        if (cursor.ok()) owner.max_creation_index = cursor.last();
      }
    }
  }
  HeaderFields(context, place, owner).run();
}

}  // namespace h5mount::check

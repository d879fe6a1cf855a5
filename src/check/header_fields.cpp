// Object headers of both versions, with their continuations.
#include <algorithm>
#include <deque>
#include <set>
#include <unordered_set>

#include "fields.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/free_space.h"
#include "h5mount/format/object_header_format.h"

namespace h5mount::check {

namespace {

using format::MessageType;

enum MessageFlag : std::uint8_t {
  kShared = 0x02,
  kDoNotShare = 0x04,
  kFailIfUnknown = 0x08,
  kMarkIfUnknown = 0x10,
  kWasUnknown = 0x20,
  kMayBeShared = 0x40,
};

class HeaderFields {
 public:
  // `filters`: the number of the dataset's filters. `most`: the largest creation order of its attributes.
  HeaderFields(const Subject& subject, bool of_extension, std::size_t filters,
               const std::optional<Field>& most)
      : subject_(subject), of_extension_(of_extension), filters_(filters), largest_(most) {}

  void run(std::uint64_t address) {
    constexpr std::uint64_t kPrefix = 64;
    constexpr std::string_view kHeader = structures::kObjectHeader;
    const auto start = subject_.file().read_up_to(address, kPrefix, kHeader);
    if (!start) return;
    format::Cursor cursor = start->cursor(kHeader);
    const auto prefix = format::decode_object_header_prefix(cursor);
    if (!prefix) return;
    prefix_ = *prefix;
    auto header =
        subject_.take(address, prefix_.prefix_bytes + prefix_.chunk0_bytes + checksum_bytes(), kHeader);
    if (!header) return;
    old() ? check_prefix_1(*header) : check_prefix_2(*header);
    check_messages(*header);
    const std::size_t in_first = count_;
    while (!pending_.empty() && subject_.go_on()) check_continuation();
    check_count(in_first);
    largest_.finish();
  }

 private:
  bool old() const { return prefix_.version == 1; }
  std::size_t checksum_bytes() const { return format::header_checksum_bytes(prefix_.version); }
  std::size_t message_header_bytes() const { return old() ? 8 : prefix_.tracks_creation_order() ? 6 : 4; }

  void check_prefix_1(Fields& header) {
    header.u8("version");
    header.zeros(1, "reserved");
    stated_ = header.u16("message_count");
    const Field count = header.u32("reference_count");
    count.want(count > 0, "nothing leads to the object");
    const Field size = header.u32("header_size");
    size.want(size % 8 == 0, "is no multiple of 8");
    header.bytes(4, "padding");
  }

  void check_prefix_2(Fields& header) {
    constexpr std::uint8_t kTracked = 0x04, kIndexed = 0x08;
    header.begin({"version"});
    const Field flags = header.u8("flags");
    flags.want((flags & (kTracked | kIndexed)) != kIndexed,
               "the creation order of attributes is indexed and not tracked");
    if ((flags & 0x20) != 0)
      for (const char* time : {"access_time", "modification_time", "change_time", "birth_time"})
        header.u32(time);
    if ((flags & 0x10) != 0) {
      const Field most = header.u16("max_compact_attributes"), least = header.u16("min_dense_attributes");
      least.want(least <= most + 1, "is above the most compact ones");
    }
    header.uint(std::size_t{1} << (flags & 0x03), "size_of_chunk_0");
  }

  void check_continuation() {
    const auto [address, length] = pending_.front();
    pending_.pop_front();
    auto chunk = subject_.take(address, length, structures::kObjectHeaderContinuation);
    if (!chunk) return;
    if (!old()) chunk->begin({});
    check_messages(*chunk);
  }

  // In a chunk with a NIL message there is no reason for a gap, and no gap has room for a message.
  void check_messages(Fields& chunk) {
    bool nil = false;
    while (chunk.ok() && chunk.remaining() >= message_header_bytes() + checksum_bytes())
      if (!check_message(chunk, nil)) return;
    const std::size_t gap = chunk.remaining() - std::min(chunk.remaining(), checksum_bytes());
    if (gap > 0) {
      chunk.bytes(gap, "gap");
      Field field = chunk.last();
      field.value = gap;
      field.want(!old() && !nil,
                 nil ? "a chunk with a NIL message has no gap" : "messages do not end with the chunk");
    }
    if (!old()) chunk.checksum();
  }

  bool check_message(Fields& chunk, bool& nil) {
    const Field number = old() ? chunk.u16("message.type") : chunk.u8("message.type");
    const MessageForm& form = message_form(number);
    const auto type = static_cast<MessageType>(number.value);
    const Field size = chunk.u16("message.size");
    if (old()) size.want(size % 8 == 0, "is no multiple of 8");
    const Field flags = chunk.u8("message.flags");
    check_flags(flags, form);
    if (old()) chunk.zeros(3, "message.reserved");
    if (prefix_.tracks_creation_order()) check_creation_order(chunk, type);
    ++count_;
    nil = nil || type == MessageType::Nil;
    if (size > chunk.remaining() - std::min(chunk.remaining(), checksum_bytes())) return false;
    check_type(number, form);
    if (!format::is_defined(type) && subject_.context->observer != nullptr)
      subject_.context->observer->met_unknown_message(subject_.place, number, flags);
    Fields body = chunk.part(size, form.name);
    check_body(body, type, form, flags);
    return true;
  }

  void check_type(const Field& type, const MessageForm& form) {
    if (!form.has(MessageForm::kRepeats))
      type.want(seen_.insert(type).second, "a header has one message of this type alone");
    type.want(of_extension_ || !form.has(MessageForm::kOfExtension),
              "only the superblock's extension has such a message");
    type.want(type != static_cast<std::uint64_t>(MessageType::ObjectReferenceCount) || !old(),
              "headers of version 1 have no such message");
  }

  static void check_flags(const Field& flags, const MessageForm& form) {
    const auto has = [&](std::uint64_t all) { return (flags & all) == all; };
    flags.want(!has(kShared | kDoNotShare), "a message is shared that should not be");
    flags.want((flags & (kShared | kMayBeShared)) == 0 || form.has(MessageForm::kShareable),
               "no message of this type is shared");
    flags.want(!has(kWasUnknown | kFailIfUnknown),
               "software that did not know the message has changed the object, and should have failed");
    flags.want(!has(kWasUnknown) || has(kMarkIfUnknown), "is marked as unknown, which nothing asks for");
  }

  // Attributes count within the object; of other messages it is not used.
  void check_creation_order(Fields& chunk, MessageType type) {
    const bool counts = type == MessageType::Attribute;
    const Field order = chunk.u16(counts ? "message.creation_order" : "message.creation_order.unused");
    if (counts && order.want(orders_.insert(order).second, "another attribute has the same"))
      largest_.take(order);
  }

  void check_body(Fields& body, MessageType type, const MessageForm& form, std::uint64_t flags) {
    // A release between two wrote fields that no other reads, and those say that they did not know it.
    const bool outdated = type == MessageType::FileSpaceInfo && (flags & kWasUnknown) != 0 &&
                          !body.decoded(format::decode_file_space_info);
    if (form.has(MessageForm::kOpaque) || outdated) {
      body.rest("body");
    } else if ((flags & kShared) != 0) {
      check_shared_reference_fields(body);
    } else if (type == MessageType::ObjectHeaderContinuation) {
      const Field address = body.address("offset"), length = body.plain_length("length");
      if (address.want_stored(length, kReachesBehindEnd) && pending_.size() < limits::kMaxHeaderChunks)
        pending_.emplace_back(address, length);
    } else if (type == MessageType::DataLayout) {
      check_layout_fields(body, filters_);
    } else {
      form.check(body);
    }
    if (body.ok()) check_rest(body, type);
  }

  // Version 1 fills messages with zeros to a multiple of 8; version 2 has nothing behind them. Writers of
  // both left layouts and datatypes that had been longer in their place.
  void check_rest(Fields& body, MessageType type) const {
    if (old() && type == MessageType::DataLayout)
      body.rest("unused");
    else if (old() || type == MessageType::Datatype)
      body.zeros(body.remaining(), old() ? "padding" : "trailing_bytes");
    else
      body.rest("trailing_bytes").want(false, "bytes lie behind the message");
  }

  // A writer of old counted wrongly where it joined messages of several chunks; libhdf5 reads such headers.
  void check_count(std::size_t in_first) {
    if (!old() || count_ <= stated_) return;
    const Error error = stated_.disagreement("the header has more messages").with_expected(count_);
    if (in_first > stated_)
      subject_.context->disagrees(subject_.place, error);
    else
      subject_.context->note(subject_.place, error);
  }

  const Subject& subject_;
  const bool of_extension_;
  const std::size_t filters_;
  format::ObjectHeaderPrefix prefix_;
  Field stated_;  // the number of messages, in version 1
  std::size_t count_ = 0;
  std::deque<std::pair<std::uint64_t, std::uint64_t>> pending_;
  std::set<std::uint64_t> seen_;  // types
  std::unordered_set<std::uint64_t> orders_;
  LargestOrder largest_;
};

// The number of filters of a dataset; 32 where it is not known.
std::size_t filters_of(const Subject& subject, const metadata::ObjectHeader& header) {
  constexpr std::size_t kMost = 32;
  const auto* message = header.find(MessageType::FilterPipeline);
  if (message == nullptr) return header.damage ? kMost : 0;
  const auto resolved = metadata::resolve_message(subject.file(), *message);
  if (!resolved) return kMost;
  format::Cursor cursor = resolved->cursor(structures::kFilterPipelineMessage);
  const auto pipeline = format::decode_filter_pipeline(cursor);
  return pipeline ? pipeline->filters.size() : kMost;
}

}  // namespace

std::optional<Field> largest_order_of(const Subject& subject, const metadata::ObjectHeader& header,
                                      MessageType info) {
  const auto* message = header.find(info);
  if (message == nullptr) return std::nullopt;
  format::Cursor cursor = message->cursor(message_form(static_cast<std::uint64_t>(info)).name);
  cursor.version(0, 0);
  if ((cursor.u8("flags") & 0x01) == 0) return std::nullopt;
  cursor.uint(info == MessageType::LinkInfo ? 8 : 2, "max_creation_index");
  return cursor.ok() ? std::optional(Field{cursor.last(), subject, cursor.structure(), true}) : std::nullopt;
}

void check_header_fields(const Subject& subject, std::uint64_t address, bool of_extension) {
  const auto header = metadata::load_object_header(subject.file(), address);
  HeaderFields(subject, of_extension, header ? filters_of(subject, **header) : 32,
               header ? largest_order_of(subject, **header, MessageType::AttributeInfo) : std::nullopt)
      .run(address);
}

}  // namespace h5mount::check

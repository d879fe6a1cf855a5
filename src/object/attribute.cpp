#include <algorithm>

#include "attribute_parts.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/structures.h"

namespace h5mount::object {

namespace attribute_parts {

namespace {

constexpr std::string_view kStructure = "AttributeMessage";

// Decodes a part of the message, or the shared message that it refers to.
template <class Decode>
auto decode_part(const metadata::FileMetadata& file, format::MessageType type, bool shared, ByteSpan body,
                 std::uint64_t offset, std::string_view structure, Decode decode) {
  const metadata::HeaderMessage message{.type = type,
                                        .flags = shared ? metadata::HeaderMessage::kShared : std::uint8_t{0},
                                        .creation_order = {},
                                        .body = body,
                                        .offset = offset,
                                        .sizes = file.sizes(),
                                        .owner = {}};
  return metadata::decode_message(file, message, structure, decode);
}

Status take_data(const format::AttributeParts& parts, Attribute& attribute) {
  const auto elements = attribute.space.element_count();
  const auto bytes = elements ? checked_mul(*elements, attribute.type->size) : std::nullopt;
  if (!bytes || *bytes > limits::kMaxAttributeBytes)
    return fail(Error(ErrorCode::LimitExceeded, kStructure, "data", parts.data_offset)
                    .with_found(bytes.value_or(UINT64_MAX))
                    .with_expected(limits::kMaxAttributeBytes));
  if (*bytes > parts.data.size())
    return fail(Error(ErrorCode::Truncated, kStructure, "data", parts.data_offset)
                    .with_found(parts.data.size())
                    .with_expected(*bytes));
  attribute.data = parts.data.first(static_cast<std::size_t>(*bytes));
  return {};
}

Status complete(const metadata::FileMetadata& file, const format::AttributeParts& parts,
                Attribute& attribute) {
  H5_ASSIGN(attribute.type,
            decode_part(file, format::MessageType::Datatype, parts.shared_datatype, parts.datatype,
                        parts.datatype_offset, structures::kDatatypeMessage, format::decode_datatype));
  H5_ASSIGN(attribute.space,
            decode_part(file, format::MessageType::Dataspace, parts.shared_dataspace, parts.dataspace,
                        parts.dataspace_offset, structures::kDataspaceMessage, format::decode_dataspace));
  return take_data(parts, attribute);
}

}  // namespace

Result<Attribute> make_attribute(const metadata::FileMetadata& file, format::Cursor cursor,
                                 std::shared_ptr<const void> owner, AttributeDetail detail) {
  H5_ASSIGN(format::AttributeParts parts, format::decode_attribute(cursor));
  Attribute attribute;
  attribute.charset = parts.charset;
  if (detail == AttributeDetail::Name) {
    attribute.name = std::move(parts.name);
    return attribute;
  }
  attribute.owner = std::move(owner);
  if (const Status status = complete(file, parts, attribute); !status) attribute.damage = status.error();
  attribute.name = std::move(parts.name);
  return attribute;
}

}  // namespace attribute_parts

namespace {

using attribute_parts::make_attribute;

Result<Attribute> from_message(const metadata::FileMetadata& file, const Object& object,
                               const metadata::HeaderMessage& message, AttributeDetail detail) {
  H5_ASSIGN(const metadata::HeaderMessage stored, metadata::resolve_message(file, message));
  H5_ASSIGN(Attribute attribute, make_attribute(file, stored.cursor("AttributeMessage"),
                                                stored.owner ? stored.owner : object.header, detail));
  if (message.creation_order) attribute.creation_order = *message.creation_order;
  return attribute;
}

// The attribute messages of a header, in creation order if each has one.
std::vector<const metadata::HeaderMessage*> compact_messages(const metadata::ObjectHeader& header) {
  std::vector<const metadata::HeaderMessage*> messages;
  for (const metadata::HeaderMessage& message : header.messages)
    if (message.type == format::MessageType::Attribute) messages.push_back(&message);
  if (std::ranges::all_of(messages,
                          [](const metadata::HeaderMessage* m) { return m->creation_order.has_value(); }))
    std::ranges::stable_sort(messages, {},
                             [](const metadata::HeaderMessage* m) { return *m->creation_order; });
  return messages;
}

// The attribute info message of dense storage; nullopt if the object has none.
Result<std::optional<format::AttributeInfo>> dense_info(const Object& object) {
  const metadata::HeaderMessage* message = object.header->find(format::MessageType::AttributeInfo);
  if (message == nullptr) return std::nullopt;
  format::Cursor cursor = message->cursor("AttributeInfoMessage");
  H5_ASSIGN(const format::AttributeInfo info, format::decode_attribute_info(cursor));
  if (info.fractal_heap_address == format::kUndefinedAddress) return std::nullopt;
  return info;
}

}  // namespace

Status for_each_attribute(const metadata::FileMetadata& file, const Object& object,
                          const std::function<bool(const Attribute&)>& visit,
                          const std::function<void(const Error&)>& damaged, AttributeDetail detail,
                          const std::function<void(Attribute&)>& examine) {
  const auto tell = [&](const Error& error) {
    if (damaged) damaged(error);
  };
  for (const metadata::HeaderMessage* message : compact_messages(*object.header)) {
    auto attribute = from_message(file, object, *message, detail);
    if (!attribute) {
      tell(attribute.error());
      continue;
    }
    if (examine) examine(*attribute);
    if (!visit(*attribute)) return {};
  }
  if (object.header->damage) tell(*object.header->damage);
  const auto info = dense_info(object);
  if (!info)
    tell(info.error());
  else if (*info)
    return attribute_parts::for_each_dense(file, **info, visit, damaged, detail, examine);
  return {};
}

Result<Attribute> find_attribute(const metadata::FileMetadata& file, const Object& object,
                                 std::string_view name) {
  if (object.attributes) {
    const auto known = std::ranges::find(*object.attributes, name, &Attribute::name);
    return known != object.attributes->end() ? Result<Attribute>(*known) : fail(no_such_attribute());
  }
  std::optional<Error> met;
  for (const metadata::HeaderMessage& message : object.header->messages) {
    if (message.type != format::MessageType::Attribute) continue;
    // The datatype is decoded only for the attribute that matches.
    const auto named = from_message(file, object, message, AttributeDetail::Name);
    if (named && named->name == name) return from_message(file, object, message, AttributeDetail::Full);
    if (!named && !met) met = named.error();
  }
  // The attribute may be among messages that cannot be read: then the answer is that error, not NotFound.
  if (!met) met = object.header->damage;
  const auto info = dense_info(object);
  if (info && *info) {
    auto found = attribute_parts::find_dense(file, **info, name);
    if (found || !met || found.error().code() != ErrorCode::NotFound) return found;
  }
  if (met) return fail(*met);
  if (!info) return fail(info.error());
  return fail(no_such_attribute());
}

}  // namespace h5mount::object

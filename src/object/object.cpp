#include "h5mount/object/object.h"

#include "kind_detector.h"

#include "h5mount/base/structures.h"

namespace h5mount::object {

std::string_view kind_name(ObjectKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"group", "dataset", "datatype"};
  return kNames[static_cast<std::size_t>(kind)];
}

Result<Object> open_object(const metadata::FileMetadata& file, std::uint64_t address) {
  H5_ASSIGN(auto header, metadata::load_object_header(file, address));
  if (header->unsupported) return fail(*header->unsupported);
  KindDetector detector;
  for (const metadata::HeaderMessage& message : header->messages) detector.note(message.type);
  const auto kind = detector.kind();
  // With a damaged header, an apparent datatype may be a dataset whose other messages are lost.
  if (kind && (*kind != ObjectKind::Datatype || !header->damage))
    return Object{.address = address, .kind = *kind, .header = std::move(header)};
  if (header->damage) return fail(*header->damage);
  return fail(
      Error(ErrorCode::InvalidValue, structures::kObjectHeader, "messages", file.base_address() + address)
          .with_detail("neither a group nor a dataset nor a datatype"));
}

std::optional<std::int64_t> object_modification_time(const Object& object) {
  if (object.header->modification_time && *object.header->modification_time != 0)
    return std::int64_t{*object.header->modification_time};
  if (const metadata::HeaderMessage* message =
          object.header->find(format::MessageType::ObjectModificationTime)) {
    format::Cursor cursor = message->cursor("ObjectModificationTimeMessage");
    if (const auto time = format::decode_modification_time(cursor)) return *time;
  }
  if (const metadata::HeaderMessage* message =
          object.header->find(format::MessageType::ObjectModificationTimeOld)) {
    format::Cursor cursor = message->cursor("ObjectModificationTimeOldMessage");
    if (const auto time = format::decode_modification_time_old(cursor)) return *time;
  }
  return std::nullopt;
}

std::optional<std::string> object_comment(const metadata::FileMetadata& file, const Object& object) {
  const metadata::HeaderMessage* message = object.header->find(format::MessageType::ObjectComment);
  if (message == nullptr) return std::nullopt;
  auto comment = metadata::decode_message(file, *message, "ObjectCommentMessage", format::decode_comment);
  return comment ? std::optional(*std::move(comment)) : std::nullopt;
}

}  // namespace h5mount::object

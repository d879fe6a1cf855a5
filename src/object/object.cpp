#include "h5mount/object/object.h"

namespace h5mount {

namespace {

struct KindSigns {
  bool dataset = false, group = false, datatype = false;
};

KindSigns signs_of(const ObjectHeader& header) {
  KindSigns signs;
  for (const HeaderMessage& message : header.messages) {
    switch (message.type) {
      case MessageType::Dataspace:
      case MessageType::DataLayout:
        signs.dataset = true;
        break;
      case MessageType::SymbolTable:
      case MessageType::LinkInfo:
      case MessageType::Link:
        signs.group = true;
        break;
      case MessageType::Datatype:
        signs.datatype = true;
        break;
      default:
        break;
    }
  }
  return signs;
}

}  // namespace

Result<Object> open_object(const FileMetadata& file, std::uint64_t address) {
  H5_ASSIGN(auto header, load_object_header(file, address));
  const KindSigns signs = signs_of(*header);
  Object object{.address = address, .kind = ObjectKind::Group, .header = nullptr};
  if (signs.dataset) {
    object.kind = ObjectKind::Dataset;
  } else if (!signs.group) {
    if (!signs.datatype) {
      if (header->damage) return fail(*header->damage);
      return fail(Error(ErrorCode::InvalidValue, "ObjectHeader", "messages", file.base_address() + address)
                      .with_detail("neither a group nor a dataset nor a datatype"));
    }
    object.kind = ObjectKind::Datatype;
  }
  object.header = std::move(header);
  return object;
}

std::optional<std::int64_t> object_modification_time(const Object& object) {
  if (object.header->modification_time && *object.header->modification_time != 0)
    return std::int64_t{*object.header->modification_time};
  if (const HeaderMessage* message = object.header->find(MessageType::ObjectModificationTime)) {
    Cursor cursor = message->cursor("ObjectModificationTimeMessage");
    if (const auto time = decode_modification_time(cursor)) return *time;
  }
  if (const HeaderMessage* message = object.header->find(MessageType::ObjectModificationTimeOld)) {
    Cursor cursor = message->cursor("ObjectModificationTimeOldMessage");
    if (const auto time = decode_modification_time_old(cursor)) return *time;
  }
  return std::nullopt;
}

std::optional<std::string> object_comment(const FileMetadata& file, const Object& object) {
  const HeaderMessage* message = object.header->find(MessageType::ObjectComment);
  if (message == nullptr) return std::nullopt;
  const auto resolved = resolve_message(file, *message);
  if (!resolved) return std::nullopt;
  Cursor cursor = resolved->cursor("ObjectCommentMessage");
  auto comment = decode_comment(cursor);
  if (!comment) return std::nullopt;
  return *std::move(comment);
}

}  // namespace h5mount

#include "h5mount/format/object_header_format.h"
#include "h5mount/object/object.h"

namespace h5mount {

namespace {

constexpr std::string_view kHeader = "ObjectHeader";
constexpr std::uint64_t kFirstRead = 512;  // a header whose first chunk is longer is left to whoever opens it

struct Signs {
  bool dataset = false, group = false, datatype = false;

  void take(const RawMessage& message) {
    switch (static_cast<MessageType>(message.type)) {
      case MessageType::Dataspace:
      case MessageType::DataLayout: dataset = true; break;
      case MessageType::SymbolTable:
      case MessageType::LinkInfo:
      case MessageType::Link: group = true; break;
      case MessageType::Datatype: datatype = true; break;
      default: break;
    }
  }

  std::optional<ObjectKind> kind() const {
    if (dataset) return ObjectKind::Dataset;
    if (group) return ObjectKind::Group;
    return datatype ? std::optional(ObjectKind::Datatype) : std::nullopt;
  }
};

bool checksum_holds(const MetadataBlock& block, std::size_t whole) {
  Cursor cursor(block.bytes().first(whole), block.file_offset(), kHeader);
  cursor.seek(whole - 4);
  cursor.checksum();
  return cursor.finish().has_value();
}

}  // namespace

std::optional<ObjectKind> peek_object_kind(const FileMetadata& file, std::uint64_t address) {
  const auto block = file.read_up_to(address, kFirstRead, kHeader);
  if (!block) return std::nullopt;
  Cursor cursor = block->cursor(kHeader);
  const auto prefix = decode_object_header_prefix(cursor);
  if (!prefix || prefix->chunk0_bytes > kFirstRead) return std::nullopt;
  const auto end = prefix->prefix_bytes + static_cast<std::size_t>(prefix->chunk0_bytes);
  const std::size_t whole = end + (prefix->version == 1 ? 0 : 4);
  if (whole > block->bytes().size() || (prefix->version != 1 && !checksum_holds(*block, whole))) return std::nullopt;
  Signs signs;
  Cursor messages(block->bytes().subspan(prefix->prefix_bytes, end - prefix->prefix_bytes),
                  block->file_offset() + prefix->prefix_bytes, kHeader);
  const auto walked = for_each_raw_message(messages, *prefix, [&signs](const RawMessage& message) -> Status {
    signs.take(message);
    return {};
  });
  return walked ? signs.kind() : std::nullopt;
}

}  // namespace h5mount

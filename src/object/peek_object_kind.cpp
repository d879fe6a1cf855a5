#include "h5mount/base/structures.h"
#include "h5mount/format/object_header_format.h"
#include "h5mount/object/object.h"
#include "kind_detector.h"

namespace h5mount::object {

namespace {

constexpr std::string_view kHeader = structures::kObjectHeader;
constexpr std::uint64_t kFirstRead = 512;  // bytes; a longer first chunk is left to open_object

bool checksum_holds(const metadata::MetadataBlock& block, std::size_t whole) {
  format::Cursor cursor = block.cursor(kHeader);
  cursor.seek(whole - 4);
  cursor.checksum();
  return cursor.finish().has_value();
}

}  // namespace

std::optional<ObjectKind> peek_object_kind(const metadata::FileMetadata& file, std::uint64_t address) {
  const auto block = file.read_up_to(address, kFirstRead, kHeader);
  if (!block) return std::nullopt;
  format::Cursor cursor = block->cursor(kHeader);
  const auto prefix = format::decode_object_header_prefix(cursor);
  if (!prefix || prefix->chunk0_bytes > kFirstRead) return std::nullopt;
  const auto end = prefix->prefix_bytes + static_cast<std::size_t>(prefix->chunk0_bytes);
  const std::size_t whole = end + format::header_checksum_bytes(prefix->version);
  if (whole > block->bytes().size() || (prefix->version != 1 && !checksum_holds(*block, whole)))
    return std::nullopt;
  KindDetector detector;
  format::Cursor messages = cursor.part(end - prefix->prefix_bytes, "messages");
  const auto walked = format::for_each_raw_message(
      messages, *prefix, [&detector](const format::RawMessage& message) -> Status {
        if (format::must_be_understood(message.type, message.flags))
          return fail(Error(ErrorCode::UnsupportedFeature, kHeader, "message.type", message.type_offset));
        detector.note(static_cast<format::MessageType>(message.type));
        return {};
      });
  return walked ? detector.kind() : std::nullopt;
}

}  // namespace h5mount::object

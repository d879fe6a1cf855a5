#include "file_snapshot.h"

#include "h5mount/format/free_space.h"
#include "h5mount/metadata/object_header.h"

namespace h5mount::metadata {
namespace {

template <class T, class Decode>
void take(const HeaderMessage& message, std::string_view name, SuperblockExtension& extension,
          std::optional<T>& target, const Decode& decode) {
  format::Cursor cursor = message.cursor(name);
  if (auto decoded = decode(cursor))
    target = *std::move(decoded);
  else
    extension.damage.push_back(decoded.error());
}

}  // namespace

Result<SuperblockExtension> load_superblock_extension(const FileMetadata& file, std::uint64_t address) {
  H5_ASSIGN(const auto header, load_object_header(file, address));
  SuperblockExtension extension;
  extension.unsupported = header->unsupported;
  if (header->damage) extension.damage.push_back(*header->damage);
  for (const HeaderMessage& message : header->messages) {
    if (message.type == format::MessageType::BTreeKValues)
      take(message, "BTreeKValuesMessage", extension, extension.k, format::decode_btree_k_values);
    if (message.type == format::MessageType::SharedMessageTable)
      take(message, "SharedMessageTableMessage", extension, extension.shared_message_table,
           format::decode_shared_message_table_message);
    if (message.type == format::MessageType::MetadataCacheImage)
      take(message, "MetadataCacheImageMessage", extension, extension.cache_image,
           format::decode_cache_image_message);
    if (message.type == format::MessageType::FileSpaceInfo) {
      format::Cursor cursor = message.cursor("FileSpaceInfoMessage");
      if (const auto space = format::decode_file_space_info(cursor)) extension.page_bytes = space->page_bytes;
    }
  }
  return extension;
}

}  // namespace h5mount::metadata

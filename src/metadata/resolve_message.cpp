#include "h5mount/metadata/object_header.h"
#include "h5mount/metadata/shared_messages.h"
#include "metadata_caches.h"

namespace h5mount::metadata {
namespace {

constexpr std::string_view kShared = "SharedMessage";

Result<std::shared_ptr<const ObjectHeader>> shared_header(const FileMetadata& file, std::uint64_t address) {
  MetadataCaches* caches = file.caches();
  if (caches != nullptr) {
    if (auto found = caches->shared_headers.find(file.number(), address)) return found;
  }
  H5_ASSIGN(auto loaded, load_object_header(file, address));
  std::size_t bytes = sizeof(ObjectHeader) + loaded->messages.capacity() * sizeof(HeaderMessage);
  for (const HeaderMessage& message : loaded->messages) bytes += message.body.size();
  if (loaded->unsupported) return fail(*loaded->unsupported);
  // A damaged header is not cached, as the next read may succeed.
  if (caches != nullptr && !loaded->damage)
    caches->shared_headers.insert(file.number(), address, loaded, bytes);
  return loaded;
}

Result<HeaderMessage> from_header(const FileMetadata& file, format::MessageType type, std::uint64_t address) {
  H5_ASSIGN(const auto header, shared_header(file, address));
  const HeaderMessage* found = header->find(type);
  if (found == nullptr) {
    if (header->damage) return fail(*header->damage);
    return fail(Error(ErrorCode::InvalidValue, kShared, "type", file.base_address() + address)
                    .with_found(static_cast<std::uint64_t>(type))
                    .with_detail("the header it leads to has no such message"));
  }
  if (found->is_shared())
    return fail(Error(ErrorCode::Cycle, kShared, "flags", found->offset)
                    .with_detail("leads to another shared message"));
  HeaderMessage message = *found;
  message.owner = header;
  return message;
}

Result<HeaderMessage> from_heap(const FileMetadata& file, format::MessageType type, std::uint64_t heap_id,
                                std::uint64_t offset) {
  const SharedMessages* shared = file.shared_messages();
  if (shared == nullptr)
    return fail(
        Error(ErrorCode::InvalidValue, kShared, "location", offset)
            .with_detail("in the shared message heap, but the file has no such table, or it is damaged"));
  H5_ASSIGN(const auto object, shared->read(type, heap_id));
  return HeaderMessage{.type = type,
                       .flags = 0,
                       .creation_order = {},
                       .body = object.bytes,
                       .offset = object.file_offset,
                       .sizes = object.sizes,
                       .owner = object.owner};
}

}  // namespace

Result<HeaderMessage> resolve_shared(const FileMetadata& file, format::MessageType type, ByteSpan body,
                                     std::uint64_t offset) {
  format::Cursor cursor(body, offset, kShared, file.sizes());
  H5_ASSIGN(const auto reference, format::decode_shared_reference(cursor));
  auto resolved = reference.in_heap ? from_heap(file, type, reference.heap_id, offset)
                                    : from_header(file, type, reference.header_address);
  if (!resolved) return fail(resolved.error().within(kShared, offset));
  return resolved;
}

Result<HeaderMessage> resolve_message(const FileMetadata& file, const HeaderMessage& message) {
  if (!message.is_shared()) return message;
  H5_ASSIGN(HeaderMessage resolved, resolve_shared(file, message.type, message.body, message.offset));
  resolved.creation_order = message.creation_order;
  return resolved;
}

}  // namespace h5mount::metadata

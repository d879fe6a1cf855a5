// Object headers, versions 1 and 2, with all their continuations (specification IV.A.1).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "h5mount/format/messages.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

// One message; `body` lives as long as its ObjectHeader (or `owner`, if the message was resolved from
// elsewhere).
struct HeaderMessage {
  format::MessageType type = format::MessageType::Nil;
  std::uint8_t flags = 0;  // bit 1: shared; bits 3, 7: fail if unknown when writing / always; bit 5 …
  std::optional<std::uint16_t> creation_order;
  ByteSpan body;
  std::uint64_t offset = 0;  // absolute file offset of the body
  format::FileSizes sizes;   // the file's
  std::shared_ptr<const void> owner;

  static constexpr std::uint8_t kShared = 0x02, kWasUnknown = 0x20;
  bool is_shared() const { return (flags & kShared) != 0; }
  // Software that did not know it has changed the object since: what it says no longer counts.
  bool was_unknown() const { return (flags & kWasUnknown) != 0; }
  format::Cursor cursor(std::string_view structure) const { return {body, offset, structure, sizes}; }
};

struct ObjectHeader {
  std::uint64_t address = 0;
  std::uint8_t version = 1;
  std::uint8_t flags = 0;
  std::uint32_t reference_count = 1;  // number of hard links (v2: the reference count message, else 1)
  std::optional<std::uint32_t> modification_time;  // of a v2 header, in seconds
  std::vector<HeaderMessage> messages;             // without NIL and continuation messages; in stored order
  // The first error in a part of the header (such as a continuation block that could not be read); the
  // messages of the other parts are present.
  std::optional<Error> damage;
  // A message that a reader must understand to use the object, and that is not understood: then nothing of
  // the object means what it seems to.
  std::optional<Error> unsupported;
  std::vector<std::shared_ptr<const void>> storage;

  const HeaderMessage* find(format::MessageType type) const;
};

// Loads a header. Loops (a continuation that leads back), sizes and counts are bounded; a v2 checksum is
// verified per chunk. An unknown message flagged 'fail always' is UnsupportedFeature, and one whose version
// is unknown and counts UnsupportedVersion: both are reported in `unsupported`.
Result<std::shared_ptr<const ObjectHeader>> load_object_header(const FileMetadata& file,
                                                               std::uint64_t address);

// The message itself if it is stored in place; otherwise the shared message that it refers to (in another
// object header or in the shared message heap). Only one step is made: fails with Cycle if the shared message
// refers to another one.
Result<HeaderMessage> resolve_message(const FileMetadata& file, const HeaderMessage& message);

// Decodes the message where it is stored; `decode` takes a cursor over its body.
template <class Decode>
auto decode_message(const FileMetadata& file, const HeaderMessage& message, std::string_view structure,
                    Decode decode) -> decltype(decode(std::declval<format::Cursor&>())) {
  H5_ASSIGN(const HeaderMessage stored, resolve_message(file, message));
  format::Cursor cursor = stored.cursor(structure);
  return decode(cursor);
}

// The same for the shared datatype or dataspace inside an attribute message (`body` holds the reference).
Result<HeaderMessage> resolve_shared(const FileMetadata& file, format::MessageType type, ByteSpan body,
                                     std::uint64_t offset);

}  // namespace h5mount::metadata

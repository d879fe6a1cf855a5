// Encodes the structures that salvage puts in the place of lost ones. The readers decode and check all of
// them as they do with any file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "h5mount/format/messages.h"
#include "h5mount/format/superblock.h"
#include "h5mount/metadata/object_header.h"

namespace h5mount::salvage {

// Appends little-endian numbers and bytes.
class Writer {
 public:
  explicit Writer(format::FileSizes sizes) : sizes_(sizes) {}
  Writer& uint(std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i)
      out_.push_back(static_cast<std::byte>(i < 8 ? value >> (8 * i) : 0));
    return *this;
  }
  Writer& address(std::uint64_t value) {
    for (std::size_t i = 0; i < sizes_.offsets; ++i)
      uint(i < 8 ? value >> (8 * i) & 0xFF : value == format::kUndefinedAddress ? 0xFF : 0, 1);
    return *this;
  }
  Writer& length(std::uint64_t value) { return uint(value, sizes_.lengths); }
  Writer& text(std::string_view value) { return bytes(as_bytes(value)); }
  Writer& bytes(ByteSpan value) {
    const std::size_t at = out_.size();
    out_.resize(at + value.size());
    std::ranges::copy(value, out_.begin() + static_cast<std::ptrdiff_t>(at));
    return *this;
  }
  Writer& zeros(std::size_t count) {
    out_.resize(out_.size() + count);
    return *this;
  }
  // Appends the checksum of everything written so far.
  Writer& checksum();
  std::size_t size() const { return out_.size(); }
  std::vector<std::byte> take() { return std::move(out_); }

 private:
  format::FileSizes sizes_;
  std::vector<std::byte> out_;
};

// A superblock of version 2.
std::vector<std::byte> encode_superblock(const format::Superblock& superblock);

struct NewMessage {
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::uint16_t creation_order = 0;
  std::vector<std::byte> body;
};

NewMessage make_message(format::MessageType type, Writer& body);

// The messages of a header, without those whose types are in `without`.
std::vector<NewMessage> messages_of(const metadata::ObjectHeader& header,
                                    std::span<const format::MessageType> without);

// A continuation block with these messages, for a header of that version and flags.
std::vector<std::byte> encode_continuation(std::uint8_t version, std::uint8_t flags,
                                           std::span<const NewMessage> messages);
// Chunk 0 with the bytes of `old`, which is the whole chunk, but with no message except the one that leads to
// the continuation. Returns nullopt if that message does not fit.
std::optional<std::vector<std::byte>> encode_chunk0(ByteSpan old, format::FileSizes sizes,
                                                    std::uint64_t continuation, std::uint64_t bytes,
                                                    std::size_t messages);
// A whole header of version 2.
std::vector<std::byte> encode_header(std::span<const NewMessage> messages);

NewMessage encode_continuation_message(std::uint64_t address, std::uint64_t bytes, format::FileSizes sizes);
// The message of a group whose links are in its header.
NewMessage encode_link_info(bool tracked, bool indexed, format::FileSizes sizes);
// The messages of a group that has these links in its header, except links that are too long for a message.
std::vector<NewMessage> encode_links(std::span<const format::Link> links, bool tracked, bool indexed,
                                     format::FileSizes sizes);
NewMessage encode_contiguous_layout(std::uint64_t address, std::uint64_t bytes, format::FileSizes sizes);
// The layout of a dataset whose chunks are in a version 1 B-tree.
NewMessage encode_chunked_layout(std::uint64_t tree, std::span<const std::uint64_t> chunk_dims,
                                 std::uint32_t element_size, format::FileSizes sizes);

// One node of a version 1 B-tree of chunks.
struct NodeEntry {
  std::vector<std::uint64_t> offsets;  // in elements, one for each dimension
  std::uint32_t stored_size = 0;
  std::uint32_t filter_mask = 0;
  std::uint64_t child = 0;
};
// `last`: the offsets in the last key.
std::vector<std::byte> encode_chunk_node(std::uint8_t level, std::span<const NodeEntry> entries,
                                         std::span<const std::uint64_t> last, format::FileSizes sizes);

}  // namespace h5mount::salvage

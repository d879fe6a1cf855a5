// Encodes structures of files that are made: in the place of lost ones (module `salvage`), and whole files
// (module `join`). The readers decode and check all of them as they do with any file. Threads: any, but a
// Writer has one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "h5mount/format/dataspace.h"
#include "h5mount/format/filter_pipeline.h"
#include "h5mount/format/messages.h"
#include "h5mount/format/selection.h"
#include "h5mount/format/superblock.h"

namespace h5mount::format {

// Appends little-endian numbers and bytes.
class Writer {
 public:
  explicit Writer(FileSizes sizes) : sizes_(sizes) {}
  Writer& uint(std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i)
      out_.push_back(static_cast<std::byte>(i < 8 ? value >> (8 * i) : 0));
    return *this;
  }
  Writer& address(std::uint64_t value) {
    for (std::size_t i = 0; i < sizes_.offsets; ++i)
      uint(i < 8 ? value >> (8 * i) & 0xFF : value == kUndefinedAddress ? 0xFF : 0, 1);
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
  FileSizes sizes_;
  std::vector<std::byte> out_;
};

// A superblock of version 2, or of the same layout with another number.
std::vector<std::byte> encode_superblock(const Superblock& superblock, std::uint8_t version = 2);

// The most bytes of a message's body that padding to 8 leaves in its field of 16 bits.
inline constexpr std::size_t kMostMessageBytes = 0xFFF8;

struct NewMessage {
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::uint16_t creation_order = 0;
  std::vector<std::byte> body;
};

NewMessage make_message(MessageType type, Writer& body);

// A continuation block with these messages, for a header of that version and flags.
std::vector<std::byte> encode_continuation(std::uint8_t version, std::uint8_t flags,
                                           std::span<const NewMessage> messages);
// Chunk 0 with the bytes of `old`, which is the whole chunk, but with no message except the one that leads to
// the continuation. Returns nullopt if that message does not fit.
std::optional<std::vector<std::byte>> encode_chunk0(ByteSpan old, FileSizes sizes, std::uint64_t continuation,
                                                    std::uint64_t bytes, std::size_t messages);
// A whole header of version 2.
std::vector<std::byte> encode_header(std::span<const NewMessage> messages);

NewMessage encode_continuation_message(std::uint64_t address, std::uint64_t bytes, FileSizes sizes);
// The message of a group whose links are in its header.
NewMessage encode_link_info(bool tracked, bool indexed, FileSizes sizes);
// The messages of a group that has these links in its header, except links that are too long for a message.
std::vector<NewMessage> encode_links(std::span<const Link> links, bool tracked, bool indexed,
                                     FileSizes sizes);
NewMessage encode_contiguous_layout(std::uint64_t address, std::uint64_t bytes, FileSizes sizes);
// The layout of a dataset whose chunks are in a version 1 B-tree.
NewMessage encode_chunked_layout(std::uint64_t tree, std::span<const std::uint64_t> chunk_dims,
                                 std::uint32_t element_size, FileSizes sizes);

// One node of a version 1 B-tree of chunks.
struct NodeEntry {
  std::vector<std::uint64_t> offsets;  // in elements, one for each dimension
  std::uint32_t stored_size = 0;
  std::uint32_t filter_mask = 0;
  std::uint64_t child = 0;
};
// `last`: the offsets in the last key.
std::vector<std::byte> encode_chunk_node(std::uint8_t level, std::span<const NodeEntry> entries,
                                         std::span<const std::uint64_t> last, FileSizes sizes);

// ---- of files with offsets and lengths of 8 bytes

// Bodies of messages. Types whose parts have other sizes than such files have (strings of variable length,
// references), and what no message can hold, fail with UnsupportedFeature.
Result<std::vector<std::byte>> encode_datatype(const Datatype& type);
std::vector<std::byte> encode_dataspace(const Dataspace& space);
// `value`: empty for the default one. `allocation_time`: as FillValue has it.
std::vector<std::byte> encode_fill_value(ByteSpan value, std::uint8_t allocation_time);
Result<std::vector<std::byte>> encode_filter_pipeline(const FilterPipelineMessage& pipeline);
// May be larger than a message (kMostMessageBytes): it is then kept in a heap.
Result<std::vector<std::byte>> encode_attribute(std::string_view name, CharacterSet charset,
                                                const Datatype& type, const Dataspace& space, ByteSpan data);
std::vector<std::byte> encode_compact_layout(ByteSpan data);
// The mappings are the object `index` of the global heap collection at `heap`.
std::vector<std::byte> encode_virtual_layout(std::uint64_t heap, std::uint32_t index);

// Appends a selection of all elements, or of the block at `start`.
void encode_all_selection(Writer& out);
void encode_block_selection(Writer& out, std::span<const std::uint64_t> start,
                            std::span<const std::uint64_t> block);

}  // namespace h5mount::format

#include "h5mount/format/encode.h"

#include "h5mount/base/checksum.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/object_header_format.h"

namespace h5mount::format {
namespace {

bool tracks_order(std::uint8_t version, std::uint8_t flags) {
  return version == 2 && (flags & 0x04) != 0;
}

void append_message(Writer& out, std::uint8_t version, std::uint8_t flags, const NewMessage& message) {
  if (version == 1) {
    const std::size_t padded = (message.body.size() + 7) / 8 * 8;
    out.uint(message.type, 2).uint(padded, 2).uint(message.flags, 1).zeros(3).bytes(message.body);
    out.zeros(padded - message.body.size());
    return;
  }
  out.uint(message.type, 1).uint(message.body.size(), 2).uint(message.flags, 1);
  if (tracks_order(version, flags)) out.uint(message.creation_order, 2);
  out.bytes(message.body);
}

NewMessage encode_link(const Link& link, FileSizes sizes) {
  Writer out(sizes);
  const bool ordered = link.creation_order.has_value();
  out.uint(1, 1).uint(0x18 | (ordered ? 0x04 : 0) | 0x01, 1).uint(link.type, 1);
  if (ordered) out.uint(static_cast<std::uint64_t>(*link.creation_order), 8);
  out.uint(static_cast<std::uint64_t>(link.charset), 1).uint(link.name.size(), 2).text(link.name);
  if (link.is(LinkType::Hard)) {
    out.address(link.address);
  } else if (link.is(LinkType::External)) {
    out.uint(link.file.size() + link.target.size() + 3, 2)
        .uint(link.external_form, 1)
        .text(link.file)
        .uint(0, 1);
    out.text(link.target).uint(0, 1);
  } else {
    out.uint(link.target.size(), 2).text(link.target);
  }
  return make_message(MessageType::Link, out);
}

}  // namespace

NewMessage make_message(MessageType type, Writer& body) {
  return {static_cast<std::uint8_t>(type), 0, 0, body.take()};
}

Writer& Writer::checksum() {
  return uint(lookup3_checksum(out_), 4);
}

std::vector<std::byte> encode_superblock(const Superblock& superblock, std::uint8_t version) {
  Writer out(superblock.sizes);
  out.text(kFormatSignature).uint(version, 1).uint(superblock.sizes.offsets, 1);
  out.uint(superblock.sizes.lengths, 1).uint(0, 1).address(0).address(superblock.extension_address);
  out.address(superblock.end_from_base()).address(superblock.root_address).checksum();
  return out.take();
}

std::vector<std::byte> encode_continuation(std::uint8_t version, std::uint8_t flags,
                                           std::span<const NewMessage> messages) {
  Writer out({});
  if (version != 1) out.text("OCHK");
  for (const NewMessage& one : messages) append_message(out, version, flags, one);
  if (version != 1) out.checksum();
  return out.take();
}

std::optional<std::vector<std::byte>> encode_chunk0(ByteSpan old, FileSizes sizes, std::uint64_t continuation,
                                                    std::uint64_t bytes, std::size_t messages) {
  Cursor cursor(old, 0, structures::kObjectHeader, sizes);
  const auto prefix = decode_object_header_prefix(cursor);
  if (!prefix) return std::nullopt;
  NewMessage leading = encode_continuation_message(continuation, bytes, sizes);
  if (prefix->version == 1) leading.body.resize((leading.body.size() + 7) / 8 * 8);
  const std::size_t head = prefix->version == 1 ? 8 : prefix->tracks_creation_order() ? 6 : 4;
  const auto room = static_cast<std::size_t>(prefix->chunk0_bytes);
  if (room < head + leading.body.size() || old.size() < prefix->prefix_bytes + room) return std::nullopt;
  Writer out(sizes);
  out.bytes(old.first(prefix->prefix_bytes));
  append_message(out, prefix->version, prefix->flags, leading);
  std::size_t left = room - head - leading.body.size();
  std::size_t nils = 0;
  for (; left >= head; ++nils) {
    NewMessage nil;
    nil.body.resize(std::min(left - head, kMostMessageBytes));
    left -= head + nil.body.size();
    append_message(out, prefix->version, prefix->flags, nil);
  }
  out.zeros(left);
  if (prefix->version != 1) return out.checksum().take();
  std::vector<std::byte> whole = out.take();
  const auto count = static_cast<std::uint16_t>(std::min<std::size_t>(messages + 1 + nils, UINT16_MAX));
  std::memcpy(&whole[2], &count, sizeof count);
  return whole;
}

std::vector<std::byte> encode_header(std::span<const NewMessage> messages) {
  Writer body({});
  for (const NewMessage& one : messages) append_message(body, 2, 0, one);
  Writer out({});
  const std::size_t width = body.size() < 256 ? 1 : 4;
  out.text("OHDR")
      .uint(2, 1)
      .uint(width == 1 ? 0x00 : 0x02, 1)
      .uint(body.size(), width)
      .bytes(body.take())
      .checksum();
  return out.take();
}

NewMessage encode_continuation_message(std::uint64_t address, std::uint64_t bytes, FileSizes sizes) {
  Writer out(sizes);
  out.address(address).length(bytes);
  return make_message(MessageType::ObjectHeaderContinuation, out);
}

NewMessage encode_link_info(bool tracked, bool indexed, FileSizes sizes) {
  Writer out(sizes);
  out.uint(0, 1).uint((tracked ? 1U : 0U) | (indexed ? 2U : 0U), 1);
  if (tracked) out.uint(0, 8);
  out.address(kUndefinedAddress).address(kUndefinedAddress);
  if (indexed) out.address(kUndefinedAddress);
  return make_message(MessageType::LinkInfo, out);
}

std::vector<NewMessage> encode_links(std::span<const Link> links, bool tracked, bool indexed,
                                     FileSizes sizes) {
  std::vector<NewMessage> out{encode_link_info(tracked, indexed, sizes)};
  for (const Link& link : links)
    if (link.name.size() < UINT16_MAX / 2 && link.target.size() + link.file.size() < UINT16_MAX / 4)
      out.push_back(encode_link(link, sizes));
  return out;
}

NewMessage encode_contiguous_layout(std::uint64_t address, std::uint64_t bytes, FileSizes sizes) {
  Writer out(sizes);
  out.uint(3, 1).uint(1, 1).address(address).length(bytes);
  return make_message(MessageType::DataLayout, out);
}

NewMessage encode_chunked_layout(std::uint64_t tree, std::span<const std::uint64_t> chunk_dims,
                                 std::uint32_t element_size, FileSizes sizes) {
  Writer out(sizes);
  out.uint(3, 1).uint(2, 1).uint(chunk_dims.size() + 1, 1).address(tree);
  for (const std::uint64_t dim : chunk_dims) out.uint(dim, 4);
  out.uint(element_size, 4);
  return make_message(MessageType::DataLayout, out);
}

std::vector<std::byte> encode_chunk_node(std::uint8_t level, std::span<const NodeEntry> entries,
                                         std::span<const std::uint64_t> last, FileSizes sizes) {
  Writer out(sizes);
  const auto offsets = [&out](std::span<const std::uint64_t> of) {
    for (const std::uint64_t offset : of) out.uint(offset, 8);
    out.uint(0, 8);
  };
  out.text("TREE").uint(1, 1).uint(level, 1).uint(entries.size(), 2);
  out.address(kUndefinedAddress).address(kUndefinedAddress);
  for (const NodeEntry& entry : entries) {
    out.uint(entry.stored_size, 4).uint(entry.filter_mask, 4);
    offsets(entry.offsets);
    out.address(entry.child);
  }
  out.uint(0, 8);
  offsets(last);
  return out.take();
}

}  // namespace h5mount::format

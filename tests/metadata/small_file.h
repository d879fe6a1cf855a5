// A superblock (version 3, or another) followed by the bytes of a test.
#pragma once

#include "h5mount/metadata/file_metadata.h"
#include "support/byte_builder.h"
#include "support/faulty_source.h"

namespace h5mount::test {

struct SuperblockLies {
  std::uint8_t version = 3;
  std::uint8_t size_of_offsets = 8, size_of_lengths = 8;
  std::uint8_t flags = 0;
  std::uint64_t base = 0;
  std::uint64_t extension = ~std::uint64_t{0};
  std::uint64_t root = 48;
  bool good_checksum = true;
};

inline ByteBuilder superblock(const SuperblockLies& lies = {}) {
  ByteBuilder b;
  b.text("\x89HDF\r\n\x1a\n")
      .u8(lies.version)
      .u8(lies.size_of_offsets)
      .u8(lies.size_of_lengths)
      .u8(lies.flags);
  b.uint(lies.base, lies.size_of_offsets).uint(lies.extension, lies.size_of_offsets);
  b.uint(4096, lies.size_of_offsets).uint(lies.root, lies.size_of_offsets);
  if (!lies.good_checksum) return b.u32(1);
  return b.checksum_from(0);
}

// A superblock with these status flags and zeros behind it.
inline std::vector<std::byte> written_file(std::uint8_t flags, bool good_checksum = true) {
  return superblock({.flags = flags, .good_checksum = good_checksum}).at(4096).bytes();
}

struct SmallFile {
  std::shared_ptr<FaultySource> source;
  metadata::FileMetadataPtr file;
};

inline SmallFile open_small(const ByteBuilder& bytes) {
  SmallFile small{std::make_shared<FaultySource>(bytes.bytes()), nullptr};
  auto opened = metadata::FileMetadata::open(small.source, {});
  if (opened) small.file = *opened;
  return small;
}

// Version 2 header messages: {type, flags, body}
inline ByteBuilder message2(std::uint8_t type, const ByteBuilder& body, std::uint8_t flags = 0) {
  return ByteBuilder().u8(type).u16(body.size()).u8(flags).add(body);
}
inline ByteBuilder header2(const ByteBuilder& messages) {
  ByteBuilder b;
  return b.text("OHDR").u8(2).u8(0x02).u32(messages.size()).add(messages).checksum_from(0);
}
inline ByteBuilder chunk2(const ByteBuilder& messages) {
  return ByteBuilder().text("OCHK").add(messages).checksum_from(0);
}
inline ByteBuilder message1(std::uint16_t type, const ByteBuilder& body, std::uint8_t flags = 0) {
  return ByteBuilder().u16(type).u16(body.size()).u8(flags).zeros(3).add(body);
}
inline ByteBuilder header1(const ByteBuilder& messages, std::uint32_t references = 1) {
  return ByteBuilder().u8(1).u8(0).u16(0).u32(references).u32(messages.size()).u32(0).add(messages);
}

}  // namespace h5mount::test

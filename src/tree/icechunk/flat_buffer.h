// FlatBuffers (https://flatbuffers.dev/internals), written from the front: what a field points to stands
// behind it, and its place is filled in when that is written. The file is a frame of Zstandard (RFC 8878)
// with raw blocks, as Icechunk reads nothing else. Threads: one.
//
//   table    i32 its place - that of its vtable, then its fields, each at a multiple of its own size
//   vtable   u16 bytes of the vtable, u16 bytes of the table, u16 place of each field in the table; 0: absent
//   vector   u32 number of elements, then these; a string is a vector of bytes with a NUL behind it
//   offset   u32 place of what it points to - its own
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "../objects/tree_text.h"

namespace h5mount::tree {

class FlatBuffer {
 public:
  // A field of a table: `number` is its place in the schema. The value is a number of so many bytes, or the
  // bytes of a struct. An offset has four bytes and is filled in later.
  struct Field {
    std::uint16_t number;
    std::uint16_t bytes;
    std::uint64_t value = 0;
    std::string_view structure = {};
    std::uint16_t alignment() const {
      constexpr std::uint16_t kOfBytes = 1;
      return structure.empty() ? bytes : kOfBytes;
    }
  };
  static constexpr Field offset(std::uint16_t number) { return {number, 4}; }
  static Field structure(std::uint16_t number, std::string_view bytes) {
    return {number, static_cast<std::uint16_t>(bytes.size()), 0, bytes};
  }

  // The place of an offset that is to be filled in.
  using Slot = std::uint64_t;
  static constexpr Slot kRoot = 0;

  // A frame behind what `out` has. The buffer begins with the offset of its root table.
  explicit FlatBuffer(TreeText& out);

  // Writes a table, which `slot` points to. Returns the places of the fields, in their order.
  static constexpr std::size_t kMostFields = 8;
  using Slots = std::array<Slot, kMostFields>;
  Slots table(Slot slot, std::initializer_list<Field> fields);
  // A vector of offsets: the place of the first; the others follow, each after four bytes.
  Slot offsets(std::uint64_t count);
  static constexpr std::uint64_t kOffsetBytes = 4;
  // The next vector that is written is what the offset points to. Things begin at multiples of eight bytes.
  void point(Slot slot);
  void vector(std::string_view bytes, std::uint64_t count);  // of elements of four bytes or less
  void text(std::string_view text) { vector_with_end(text); }
  // From now on each table has its vtable near by again: what follows has the same size wherever it stands.
  void forget_tables();

  // Of the buffer so far, and of the frame of a buffer.
  std::uint64_t size() const { return handed_on_ + pending_.size(); }
  static constexpr std::uint64_t frame_size(std::uint64_t bytes) {
    return kFrameHeader + bytes + (bytes / kBlock + 1) * kBlockHeader;
  }
  // The first error of all so far.
  const Status& status() const { return status_; }
  // Ends the frame.
  Status finish();

 private:
  static constexpr std::uint64_t kBlock = 128U << 10, kBlockHeader = 3, kFrameHeader = 6;

  void align();
  void append(std::string_view bytes);
  void vector_with_end(std::string_view bytes);
  void hand_on(bool last);
  // Writes it if it is not near by. Returns its place.
  std::uint64_t vtable(std::initializer_list<Field> fields, Slots& places);

  TreeText& out_;
  const std::uint64_t begin_;
  std::uint64_t handed_on_ = 0;                                 // whole blocks
  std::string pending_;                                         // what follows them
  std::vector<std::pair<std::string, std::uint64_t>> vtables_;  // and their places; there are few
  std::string table_;
  Status status_;
};

}  // namespace h5mount::tree

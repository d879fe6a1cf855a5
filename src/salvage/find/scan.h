// Finds where structures of the format may begin: their signatures, and object headers of version 1, which
// have none, by their form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "h5mount/base/bytes.h"

namespace h5mount::salvage {

enum class Kind : std::uint8_t {
  None,
  Superblock,
  Header1,
  Header2,
  HeaderContinuation,
  BTree1,
  SymbolNode,
  LocalHeap,
  GlobalHeap,
  FractalHeap,
  HeapDirect,
  HeapIndirect,
  BTree2,
  BTree2Internal,
  BTree2Leaf,
  ExtensibleArray,
  ExtensibleIndex,
  ExtensibleSuper,
  ExtensibleData,
  FixedArray,
  FixedData,
  SharedTable,
  SharedList,
};
inline constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::SharedList) + 1;

// The number of bytes before the address of the header that the block names; only for blocks that name one.
constexpr std::size_t owner_at(Kind block) {
  // The signature and the version come first; blocks of arrays have a client too.
  return block == Kind::HeapDirect || block == Kind::HeapIndirect ? 5 : 6;
}

// The number of bytes that must follow the last position that is looked at.
inline constexpr std::size_t kScanMargin = 48;

// Calls `visit` for each position in [begin, end) at which a structure may begin, in order. Precondition:
// `bytes` has kScanMargin bytes after `end`.
void scan(ByteSpan bytes, std::size_t begin, std::size_t end,
          const std::function<void(std::size_t at, Kind kind)>& visit);

// Whether the messages of chunk 0 of a version 1 object header have its form: known types, sizes that are
// multiples of 8 and that end where the header says. `bytes` begin at the header.
bool has_form_of_header1(ByteSpan bytes);

// The number of bytes of the object header's chunk 0 at the beginning of `bytes`, if its checksum is right;
// else 0.
std::uint64_t proven_header2_bytes(ByteSpan bytes);

}  // namespace h5mount::salvage

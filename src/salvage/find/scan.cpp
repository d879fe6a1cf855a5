#include "scan.h"

#include <array>
#include <utility>

#include "h5mount/base/structures.h"
#include "h5mount/format/messages.h"
#include "h5mount/format/object_header_format.h"
#include "h5mount/format/superblock.h"

namespace h5mount::salvage {
namespace {

constexpr std::size_t kLanes = 16;
using Lanes = std::uint8_t __attribute__((vector_size(kLanes)));
using Words = std::uint64_t __attribute__((vector_size(kLanes)));

Lanes load(const std::byte* at) {
  Lanes out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

Lanes all(std::uint8_t value) {
  return Lanes{} + value;
}

bool any(Lanes mask) {
  Words words;
  std::memcpy(&words, &mask, sizeof words);
  return (words[0] | words[1]) != 0;
}

constexpr std::uint32_t word(std::string_view text) {
  std::uint32_t out = 0;
  for (std::size_t i = 4; i-- > 0;) out = out << 8 | static_cast<std::uint8_t>(text[i]);
  return out;
}

constexpr std::array<std::pair<std::uint32_t, Kind>, 20> kSignatures = {{
    {word("OHDR"), Kind::Header2},         {word("OCHK"), Kind::HeaderContinuation},
    {word("TREE"), Kind::BTree1},          {word("SNOD"), Kind::SymbolNode},
    {word("HEAP"), Kind::LocalHeap},       {word("GCOL"), Kind::GlobalHeap},
    {word("FRHP"), Kind::FractalHeap},     {word("FHDB"), Kind::HeapDirect},
    {word("FHIB"), Kind::HeapIndirect},    {word("BTHD"), Kind::BTree2},
    {word("BTIN"), Kind::BTree2Internal},  {word("BTLF"), Kind::BTree2Leaf},
    {word("EAHD"), Kind::ExtensibleArray}, {word("EAIB"), Kind::ExtensibleIndex},
    {word("EASB"), Kind::ExtensibleSuper}, {word("EADB"), Kind::ExtensibleData},
    {word("FAHD"), Kind::FixedArray},      {word("FADB"), Kind::FixedData},
    {word("SMTB"), Kind::SharedTable},     {word("SMLI"), Kind::SharedList},
}};

Kind kind_of(const std::byte* at) {
  const auto first = load_le<std::uint32_t>(at);
  for (const auto& [signature, kind] : kSignatures)
    if (signature == first) return kind;
  return Kind::None;
}

// Whether four capital letters follow one another, at each of the positions from `at` on.
Lanes capitals(const std::byte* at) {
  const auto letter = [](Lanes bytes) { return Lanes((bytes - all('A')) < all(26)); };
  return letter(load(at)) & letter(load(at + 1)) & letter(load(at + 2)) & letter(load(at + 3));
}

// Whether an object header of version 1 may begin, at each of the positions from `at` on: the version, the
// reserved byte, and the high bytes of counts and of the first message that are zero in every header that
// libhdf5 writes.
Lanes prefixes(const std::byte* at) {
  const Lanes zeros = load(at + 1) | load(at + 6) | load(at + 7) | load(at + 11) | load(at + 17) |
                      load(at + 21) | load(at + 22) | load(at + 23);
  return Lanes(load(at) == all(1)) & Lanes(zeros == all(0));
}

Lanes superblocks(const std::byte* at) {
  return Lanes(load(at) == all(0x89)) & Lanes(load(at + 1) == all('H'));
}

Kind exact_kind(const std::byte* at) {
  const auto first = std::to_integer<std::uint8_t>(at[0]);
  if (first == 0x89)
    return as_text({at, format::kFormatSignature.size()}) == format::kFormatSignature ? Kind::Superblock
                                                                                      : Kind::None;
  if (first != 1) return kind_of(at);
  const bool counts = load_le<std::uint16_t>(at + 2) != 0 && load_le<std::uint32_t>(at + 8) % 8 == 0 &&
                      load_le<std::uint32_t>(at + 8) != 0;
  return counts ? Kind::Header1 : Kind::None;
}

// Whether a message of that type tells of what kind an object is. A header without any is not taken for one.
bool tells_kind(format::MessageType type) {
  using enum format::MessageType;
  return type == Dataspace || type == Datatype || type == DataLayout || type == SymbolTable ||
         type == LinkInfo || type == Link || type == ObjectHeaderContinuation;
}

}  // namespace

void scan(ByteSpan bytes, std::size_t begin, std::size_t end,
          const std::function<void(std::size_t at, Kind kind)>& visit) {
  const std::byte* const base = bytes.data();
  for (std::size_t at = begin; at < end; at += kLanes) {
    const Lanes mask = capitals(base + at) | prefixes(base + at) | superblocks(base + at);
    if (!any(mask)) [[likely]]
      continue;
    for (std::size_t i = 0; i < kLanes && at + i < end; ++i) {
      if (mask[i] == 0) continue;
      const Kind kind = exact_kind(base + at + i);
      if (kind != Kind::None) visit(at + i, kind);
    }
  }
}

bool has_form_of_header1(ByteSpan bytes) {
  format::Cursor cursor(bytes, 0, structures::kObjectHeader, {});
  const auto prefix = format::decode_object_header_prefix(cursor);
  if (!prefix || prefix->version != 1 || prefix->message_count == 0 || prefix->reference_count > 0xFFFF)
    return false;
  if (prefix->chunk0_bytes < 8 || prefix->chunk0_bytes > cursor.remaining()) return false;
  unsigned count = 0;
  bool tells = false;
  std::size_t at = prefix->prefix_bytes;
  const std::size_t end = at + static_cast<std::size_t>(prefix->chunk0_bytes);
  while (end - at >= 8) {
    const auto type = load_le<std::uint16_t>(&bytes[at]);
    const auto size = load_le<std::uint16_t>(&bytes[at + 2]);
    const auto flags_and_reserved = load_le<std::uint32_t>(&bytes[at + 4]);
    if (type > format::kLastKnownMessageType || size % 8 != 0 || flags_and_reserved > 0xFF ||
        size > end - at - 8)
      return false;
    tells = tells || tells_kind(static_cast<format::MessageType>(type));
    at += 8 + std::size_t{size};
    ++count;
  }
  return at == end && tells && count <= prefix->message_count;
}

std::uint64_t proven_header2_bytes(ByteSpan bytes) {
  format::Cursor cursor(bytes, 0, structures::kObjectHeader, {});
  const auto prefix = format::decode_object_header_prefix(cursor);
  if (!prefix || prefix->version != 2 || prefix->chunk0_bytes + 4 > cursor.remaining()) return 0;
  cursor.skip(static_cast<std::size_t>(prefix->chunk0_bytes), "messages");
  cursor.checksum();
  return cursor.ok() ? cursor.position() : 0;
}

}  // namespace h5mount::salvage

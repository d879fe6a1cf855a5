// Attributes of made files. Those that no message holds are in dense storage, where each is a huge object of
// a fractal heap without blocks: both indexes are single leaves.
//
//   heap header, name index (B-tree v2 type 8), index of huge objects (type 1): format/fractal_heap_blocks.h,
//   format/btree2_node.h, object/dense_attributes.cpp
#include <algorithm>
#include <bit>

#include "h5mount/base/checksum.h"
#include "made_segment.h"

namespace h5mount::join {
namespace {

using format::MessageType;
using format::NewMessage;
using format::Writer;

// In headers, all attributes of an object together.
constexpr std::uint64_t kMostHeaderBytes = 8U << 20;
constexpr std::size_t kMostDense = 0xFFFF;  // (format) records of a node
constexpr std::size_t kIdBytes = 8;

struct DenseAttribute {
  std::string_view name;
  std::uint32_t hash = 0;
  std::uint64_t address = 0, bytes = 0;
  std::uint64_t key = 0;  // among the huge objects, from 1
};

// A version 2 B-tree of one leaf with these records; returns the address of its header.
Result<std::uint64_t> append_tree(MadeSegment& segment, std::uint8_t type, std::size_t record_bytes,
                                  std::size_t count, ByteSpan records) {
  constexpr std::size_t kNodeOverhead = 4 + 1 + 1 + 4, kLeastNode = 512;
  Writer leaf({});
  leaf.text("BTLF").uint(0, 1).uint(type, 1).bytes(records).checksum();
  const std::size_t node = std::max(kLeastNode, std::bit_ceil(records.size() + kNodeOverhead));
  leaf.zeros(node - leaf.size());
  H5_ASSIGN(const std::uint64_t root, segment.append(leaf.take()));
  Writer head({});
  head.text("BTHD").uint(0, 1).uint(type, 1).uint(node, 4).uint(record_bytes, 2).uint(0, 2);
  head.uint(100, 1).uint(40, 1).address(root).uint(count, 2).length(count).checksum();
  return segment.append(head.take());
}

Result<std::uint64_t> append_huge_index(MadeSegment& segment, std::span<const DenseAttribute> attributes) {
  constexpr std::uint8_t kHugeObjects = 1;
  Writer records({});
  for (const DenseAttribute& one : attributes) records.address(one.address).length(one.bytes).length(one.key);
  return append_tree(segment, kHugeObjects, 8 + 8 + 8, attributes.size(), records.take());
}

Result<std::uint64_t> append_name_index(MadeSegment& segment, std::vector<DenseAttribute> attributes) {
  constexpr std::uint8_t kNames = 8;
  constexpr std::uint64_t kHugeId = 0x10;
  std::ranges::sort(attributes, [](const DenseAttribute& a, const DenseAttribute& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.name < b.name;
  });
  Writer records({});
  for (const DenseAttribute& one : attributes)
    records.uint(kHugeId, 1).uint(one.key, kIdBytes - 1).uint(0, 1).uint(one.key - 1, 4).uint(one.hash, 4);
  return append_tree(segment, kNames, kIdBytes + 1 + 4 + 4, attributes.size(), records.take());
}

// The numbers are those that libhdf5 gives the heaps of attributes.
Result<std::uint64_t> append_heap(MadeSegment& segment, std::uint64_t huge_index, std::uint64_t count,
                                  std::uint64_t bytes) {
  constexpr std::uint64_t kChecksums = 0x02;
  Writer out({});
  out.text("FRHP").uint(0, 1).uint(kIdBytes, 2).uint(0, 2).uint(kChecksums, 1).uint(4096, 4);
  out.length(count).address(huge_index).length(0).address(format::kUndefinedAddress);
  out.length(0).length(0).length(0).length(0).length(bytes).length(count).length(0).length(0);
  out.uint(4, 2).length(1024).length(65'536).uint(40, 2).uint(1, 2).address(format::kUndefinedAddress);
  out.uint(0, 2).checksum();
  return segment.append(out.take());
}

NewMessage attribute_info(std::uint64_t heap, std::uint64_t names) {
  Writer out({});
  out.uint(0, 1).uint(0, 1).address(heap).address(names);
  return format::make_message(MessageType::AttributeInfo, out);
}

Result<std::vector<NewMessage>> encode_dense(std::span<const MadeAttribute> attributes,
                                             std::span<const std::vector<std::byte>> bodies,
                                             MadeSegment& segment) {
  if (attributes.size() > kMostDense)
    return fail(Error(ErrorCode::TooLarge, "more than 65,535 attributes of an object, one of them large"));
  std::vector<DenseAttribute> dense;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    H5_ASSIGN(const std::uint64_t address, segment.append(bodies[i]));
    const std::string_view name = attributes[i].name;
    dense.push_back({name, lookup3_checksum(as_bytes(name)), address, bodies[i].size(), i + 1});
    bytes += bodies[i].size();
  }
  H5_ASSIGN(const std::uint64_t huge_index, append_huge_index(segment, dense));
  H5_ASSIGN(const std::uint64_t heap, append_heap(segment, huge_index, dense.size(), bytes));
  H5_ASSIGN(const std::uint64_t names, append_name_index(segment, std::move(dense)));
  return std::vector<NewMessage>{attribute_info(heap, names)};
}

}  // namespace

Result<std::vector<NewMessage>> encode_attributes(std::span<const MadeAttribute> attributes,
                                                  MadeSegment& segment, const AddressOf& address_of) {
  std::vector<std::vector<std::byte>> bodies;
  std::uint64_t total = 0;
  bool dense = false;
  for (const MadeAttribute& one : attributes) {
    H5_ASSIGN(const std::vector<std::byte> data, segment.encode_value(one.value, address_of));
    auto body = format::encode_attribute(one.name, one.charset, *one.type, one.space, data);
    if (!body) return fail(body.error().within("attribute " + one.name));
    total += body->size();
    dense = dense || body->size() > format::kMostMessageBytes || total > kMostHeaderBytes;
    bodies.push_back(*std::move(body));
  }
  if (dense) return encode_dense(attributes, bodies, segment);
  std::vector<NewMessage> out;
  // Without it libhdf5 counts no attributes in headers of version 2.
  if (!bodies.empty()) out.push_back(attribute_info(format::kUndefinedAddress, format::kUndefinedAddress));
  for (std::vector<std::byte>& body : bodies)
    out.push_back({static_cast<std::uint8_t>(MessageType::Attribute), 0, 0, std::move(body)});
  return out;
}

}  // namespace h5mount::join

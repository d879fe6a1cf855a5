// Data layout and filter pipeline messages.
#include <algorithm>
#include <vector>

#include "fields.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/format/filter_ids.h"

namespace h5mount::check {

namespace {

// The extents of a chunk, the last of which is the size of an element.
void check_chunk_dims(Fields& message, std::uint64_t rank, std::size_t width) {
  for (std::uint64_t i = 1; i < rank; ++i) message.uint(width, "chunk_dimension");
  if (rank > 0) message.uint(width, "element_size");
}

void check_old_layout(Fields& message) {
  const Field rank = message.u8("dimensionality"), cls = message.u8("class");
  message.zeros(5, "reserved");
  if (cls != 0) message.address("address").want_stored();
  if (cls == 2) return check_chunk_dims(message, rank, 4);
  for (unsigned i = 0; i < rank; ++i) message.u32("dimension_size");
  if (cls == 0) message.bytes(message.u32("compact_size"), "compact_data");
}

void check_index_parameters(Fields& message, std::uint64_t index) {
  switch (static_cast<format::ChunkIndexKind>(index)) {
    case format::ChunkIndexKind::FixedArray:
      message.u8("page_bits").want_range(1, 63);
      return;
    case format::ChunkIndexKind::ExtensibleArray:
      for (const char* name : {"max_bits", "index_elements", "min_pointers", "min_elements", "page_bits"})
        message.u8(name).want_not_zero();
      return;
    case format::ChunkIndexKind::BTree2:
      message.u32("node_size").want_not_zero();
      return check_split_and_merge_fields(message);
    default:
      return;
  }
}

void check_chunked(Fields& message, std::uint64_t version, std::size_t filters) {
  if (version == 3) {
    const Field rank = message.u8("dimensionality");
    message.address("btree_address").want_stored();
    return check_chunk_dims(message, rank, 4);
  }
  const Field flags = message.u8("flags"), rank = message.u8("dimensionality");
  const Field width = message.u8("dimension_width");
  if (width == 0 || width > 8) return;
  check_chunk_dims(message, rank, width);
  const Field index = message.u8("index_type");
  if (!message.ok()) return;
  flags.want((flags & 0x02) == 0 || index == 1, "only a single chunk has this flag");
  const bool single = index == 1 && (flags & 0x02) != 0;
  const Field stored = single ? message.plain_length("single_stored_size") : Field();
  const Field mask = single ? message.u32("single_filter_mask") : Field();
  check_index_parameters(message, index);
  const Field address = message.address("index_address");
  address.want_stored();
  if (!single || address == format::kUndefinedAddress) return;
  stored.want_not_zero();
  mask.want_filters(filters);
  stored.want(range_within(address, stored, message.stored_end()), kReachesBehindEnd);
}

// The parameters of n-bit: a tree of types, each with the size of what it describes.
class NbitFields {
 public:
  explicit NbitFields(const std::vector<Field>& values) : values_(values) {}

  void check() {
    if (values_.size() <= kTreeAt) return;
    values_[0].want_equal(values_.size(), "is not the number of values");
    check_type(0);
  }

 private:
  enum Class : std::uint64_t { kAtomic = 1, kArray = 2, kCompound = 3, kNoOperation = 4 };
  // Behind the number of values, whether bits are left out, and the elements.
  static constexpr std::size_t kTreeAt = 3;

  Field next() {
    const bool there = at_ < values_.size();
    values_[0].want(there, "the description of the type ends before its end");
    return there ? values_[at_++] : Field();
  }

  // Returns the bytes of what is described.
  std::uint64_t check_type(unsigned depth) {  // NOLINT(misc-no-recursion)
    if (depth > limits::kMaxDatatypeDepth || at_ >= values_.size()) return 0;
    const Field cls = next(), size = next();
    if (cls == kAtomic) {
      const Field order = next(), precision = next(), offset = next();
      order.want(order <= 1, "is no byte order");
      precision.want(precision > 0 && precision + offset <= 8 * size, "has bits outside the element");
    } else if (cls == kArray) {
      const std::uint64_t base = check_type(depth + 1);
      size.want(base > 0 && size % base == 0, "is no multiple of what it has");
    } else if (cls == kCompound) {
      check_members(size, depth);
    } else {
      cls.want(cls == kNoOperation, "is no class of n-bit");
    }
    return size;
  }

  void check_members(std::uint64_t size, unsigned depth) {  // NOLINT(misc-no-recursion)
    const Field count = next();
    std::uint64_t end = 0;
    for (std::uint64_t i = 0; i < count && at_ < values_.size(); ++i) {
      const Field offset = next();
      const std::uint64_t bytes = check_type(depth + 1);
      offset.want(range_within(offset, bytes, size) && bytes > 0, "the member ends behind the compound");
      offset.want(offset >= end, kOverlapsTheOneBefore);
      end = std::max(end, offset + bytes);
    }
  }

  const std::vector<Field>& values_;
  std::size_t at_ = kTreeAt;
};

void check_values(std::uint64_t id, const std::vector<Field>& values, const Field& count) {
  constexpr std::uint64_t kNbit = 5, kMostEffort = 9;
  if (id == format::kDeflate) {
    count.want_equal(1, "deflate has one value");
    if (values.size() == 1) values[0].want_range(0, kMostEffort);
  } else if (id == format::kShuffle) {
    count.want(count <= 1, "shuffle has one value at most");
    if (values.size() == 1) values[0].want_not_zero();
  } else if (id == format::kFletcher32) {
    count.want_equal(0, "fletcher32 has no values");
  } else if (id == kNbit) {
    NbitFields(values).check();
  }
}

void check_filter(Fields& message, bool padded) {
  constexpr std::uint16_t kNamed = 256;
  const Field id = message.u16("filter_id");
  const Field name_length = padded || id >= kNamed ? message.u16("name_length") : Field();
  if (padded) name_length.want(name_length % 8 == 0, "is no multiple of 8");
  message.u16("flags").want_flags(0x01);
  const Field count = message.u16("client_value_count");
  if (name_length > 0) message.padded_text(name_length, "name");
  if (count > message.remaining() / 4) return;
  std::vector<Field> values;
  for (unsigned i = 0; i < count; ++i) values.push_back(message.u32("client_data"));
  if (padded && count % 2 != 0) message.zeros(4, "client_data_padding");
  check_values(id, values, count);
}

}  // namespace

void check_layout_fields(Fields& message, std::size_t filters) {
  const Field version = message.u8("version");
  if (version < 3) return check_old_layout(message);
  const Field cls = message.u8("class");
  switch (static_cast<format::LayoutClass>(cls.value)) {
    case format::LayoutClass::Compact:
      message.bytes(message.u16("compact_size"), "compact_data");
      return;
    case format::LayoutClass::Contiguous:  // what lies behind the file's end is told of the data
      message.address("address");
      message.plain_length("size");
      return;
    case format::LayoutClass::Chunked:
      return check_chunked(message, version, filters);
    case format::LayoutClass::Virtual:
      message.address("heap_address").want_stored();
      message.u32("heap_index");
      return;
    case format::LayoutClass::Structured:
      message.rest("structured_chunks");
      return;
  }
}

void check_filter_fields(Fields& message) {
  const Field version = message.u8("version");
  if (version == 3) {  // of structured chunks, which readers check as a whole
    message.rest("sections");
    return;
  }
  const Field count = message.u8("filter_count");
  count.want_not_zero();
  if (version == 1) message.zeros(6, "reserved");
  for (unsigned i = 0; i < count && message.ok(); ++i) check_filter(message, version == 1);
}

}  // namespace h5mount::check

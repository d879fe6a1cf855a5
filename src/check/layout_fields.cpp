// Data layout and filter pipeline messages.
#include <algorithm>
#include <bit>
#include <vector>

#include "fields.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/format/data_layout.h"
#include "h5mount/format/filter_ids.h"

namespace h5mount::check {

namespace {

void check_old_layout(Fields& message) {
  const std::uint8_t rank = message.u8("dimensionality");
  const std::uint8_t cls = message.u8("class");
  message.zeros(5, "reserved");
  if (cls != 0) {
    message.address("address");
    message.want_stored(1, kBehindEnd);
  }
  for (unsigned i = 0; i < rank; ++i)
    message.u32(cls != 2 ? "dimension_size" : i + 1U == rank ? "element_size" : "chunk_dimension");
  if (cls == 0) message.bytes(message.u32("compact_size"), "compact_data");
}

void check_chunk_dims(Fields& message, std::uint8_t rank, std::size_t width) {
  for (unsigned i = 0; i < rank; ++i)
    message.uint(width, i + 1U == rank ? "element_size" : "chunk_dimension");
}

void check_index_parameters(Fields& message, std::uint8_t index) {
  switch (static_cast<format::ChunkIndexKind>(index)) {
    case format::ChunkIndexKind::FixedArray:
      message.u8("page_bits");
      message.want(message.last().value > 0 && message.last().value < 64, "is not 1 to 63");
      return;
    case format::ChunkIndexKind::ExtensibleArray:
      for (const char* name : {"max_bits", "index_elements", "min_pointers", "min_elements", "page_bits"}) {
        message.u8(name);
        message.want(message.last().value > 0, "is zero");
      }
      return;
    case format::ChunkIndexKind::BTree2: {
      message.u32("node_size");
      message.want(message.last().value > 0, "is zero");
      const std::uint8_t split = message.u8("split_percent");
      message.want(split >= 1 && split <= 100, "is not 1 to 100");
      message.u8("merge_percent");
      message.want(message.last().value >= 1 && message.last().value <= split / 2,
                   "is not 1 to half of the split percent");
      return;
    }
    default:
      return;
  }
}

void check_chunked(Fields& message, std::uint8_t version, std::size_t filters) {
  if (version == 3) {
    const std::uint8_t rank = message.u8("dimensionality");
    message.address("btree_address");
    message.want_stored(1, kBehindEnd);
    return check_chunk_dims(message, rank, 4);
  }
  const std::uint8_t flags = message.u8("flags");
  const format::Field flags_field = message.last();
  const std::uint8_t rank = message.u8("dimensionality");
  const std::uint8_t width = message.u8("dimension_width");
  if (width == 0 || width > 8) return;
  check_chunk_dims(message, rank, width);
  const std::uint8_t index = message.u8("index_type");
  message.want((flags & 0x02) == 0 || index == 1, flags_field, "only a single chunk has this flag");
  const bool single = index == 1 && (flags & 0x02) != 0;
  format::Field stored, mask;
  if (single) {
    message.plain_length("single_stored_size");
    stored = message.last();
    message.u32("single_filter_mask");
    mask = message.last();
  }
  check_index_parameters(message, index);
  message.address("index_address");
  message.want_stored(1, kBehindEnd);
  const std::uint64_t address = message.last().value;
  if (!single || address == format::kUndefinedAddress) return;
  message.want(stored.value > 0, stored, "is zero");
  message.want(filters >= 32 || mask.value >> filters == 0, mask, "is of filters that there are not");
  message.want(range_within(address, stored.value, message.context().stored_end), stored,
               "reaches behind the end of the file");
}

// The parameters of n-bit: a tree of types, each with the size of what it describes.
class NbitFields {
 public:
  NbitFields(Fields& message, std::vector<format::Field> values)
      : message_(message), values_(std::move(values)) {}

  void check() {
    constexpr std::size_t kTreeAt =
        3;  // behind the number of values, whether bits are left out, the elements
    if (values_.size() <= kTreeAt) return;
    message_.want_equal(values_.size(), values_[0], "is not the number of values");
    at_ = kTreeAt;
    check_type(0);
  }

 private:
  enum Class : std::uint64_t { kAtomic = 1, kArray = 2, kCompound = 3, kNoOperation = 4 };

  format::Field next() {
    const bool there = at_ < values_.size();
    message_.want(there, values_[0], "the description of the type ends before its end");
    return there ? values_[at_++] : format::Field{};
  }

  // Returns the bytes of what is described.
  std::uint64_t check_type(unsigned depth) {  // NOLINT(misc-no-recursion)
    if (depth > limits::kMaxDatatypeDepth || at_ >= values_.size()) return 0;
    const format::Field cls = next(), size = next();
    switch (cls.value) {
      case kAtomic: {
        message_.want(next().value <= 1, values_[at_ - 1], "is no byte order");
        const format::Field precision = next(), offset = next();
        message_.want(precision.value > 0 && precision.value + offset.value <= 8 * size.value, precision,
                      "has bits outside the element");
        break;
      }
      case kArray: {
        const std::uint64_t base = check_type(depth + 1);
        message_.want(base > 0 && size.value % base == 0, size, "is no multiple of what it has");
        break;
      }
      case kCompound:
        check_members(size, depth);
        break;
      default:
        message_.want(cls.value == kNoOperation, cls, "is no class of n-bit");
    }
    return size.value;
  }

  void check_members(const format::Field& size, unsigned depth) {  // NOLINT(misc-no-recursion)
    const format::Field count = next();
    std::uint64_t end = 0;
    for (std::uint64_t i = 0; i < count.value && at_ < values_.size(); ++i) {
      const format::Field offset = next();
      const std::uint64_t bytes = check_type(depth + 1);
      message_.want(range_within(offset.value, bytes, size.value) && bytes > 0, offset,
                    "the member ends behind the compound");
      message_.want(offset.value >= end, offset, "the member overlaps the one before it");
      end = std::max(end, offset.value + bytes);
    }
  }

  Fields& message_;
  const std::vector<format::Field> values_;
  std::size_t at_ = 0;
};

constexpr std::uint16_t kNbit = 5;

void check_values(Fields& message, std::uint16_t id, const std::vector<format::Field>& values,
                  const format::Field& count) {
  constexpr std::uint64_t kMostEffort = 9;
  switch (id) {
    case format::kDeflate:
      message.want_equal(1, count, "deflate has one value");
      if (values.size() == 1) message.want(values[0].value <= kMostEffort, values[0], "is not 0 to 9");
      return;
    case format::kShuffle:
      message.want(count.value <= 1, count, "shuffle has one value at most");
      if (values.size() == 1) message.want(values[0].value > 0, values[0], "is zero");
      return;
    case format::kFletcher32:
      message.want_equal(0, count, "fletcher32 has no values");
      return;
    case kNbit:
      return NbitFields(message, values).check();
    default:
      return;
  }
}

void check_filter(Fields& message, bool padded) {
  constexpr std::uint16_t kNamed = 256;
  const std::uint16_t id = message.u16("filter_id");
  const std::uint16_t name_length = padded || id >= kNamed ? message.u16("name_length") : 0;
  if (padded) message.want(name_length % 8 == 0, "is no multiple of 8");
  message.u16("flags");
  message.want((message.last().value & ~std::uint64_t{1}) == 0, "reserved bits are set");
  const std::uint16_t count = message.u16("client_value_count");
  const format::Field count_field = message.last();
  if (name_length > 0) {
    const std::string_view name = as_text(message.bytes(name_length, "name"));
    const std::size_t end = std::min(name.find('\0'), name.size());
    message.want(name.find_first_not_of('\0', end) == std::string_view::npos, "has text behind its end");
  }
  if (count > message.remaining() / 4) return;
  std::vector<format::Field> values;
  for (unsigned i = 0; i < count; ++i) {
    message.u32("client_data");
    values.push_back(message.last());
  }
  if (padded && count % 2 != 0) message.zeros(4, "client_data_padding");
  check_values(message, id, values, count_field);
}

}  // namespace

void check_layout_fields(Fields& message, std::size_t filters) {
  const std::uint8_t version = message.u8("version");
  if (version < 3) return check_old_layout(message);
  const std::uint8_t cls = message.u8("class");
  switch (static_cast<format::LayoutClass>(cls)) {
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
      message.address("heap_address");
      message.want_stored(1, kBehindEnd);
      message.u32("heap_index");
      return;
    case format::LayoutClass::Structured:
      message.bytes(message.remaining(), "structured_chunks");
      return;
  }
}

void check_filter_fields(Fields& message) {
  const std::uint8_t version = message.u8("version");
  if (version == 3) {  // of structured chunks, which readers check as a whole
    message.bytes(message.remaining(), "sections");
    return;
  }
  const std::uint8_t count = message.u8("filter_count");
  message.want(count > 0, "is zero");
  if (version == 1) message.zeros(6, "reserved");
  for (unsigned i = 0; i < count && message.ok(); ++i) check_filter(message, version == 1);
}

}  // namespace h5mount::check

#include "h5mount/dataset/joined_datasets.h"

#include <cstring>
#include <limits>
#include <numeric>

#include "h5mount/base/checked.h"

namespace h5mount::dataset {

namespace {

using ReaderPtr = std::shared_ptr<const DatasetReader>;

constexpr std::uint64_t kMaxImageBytes = (1ULL << 63) - 1;

template <std::size_t kSize>
void spread_fixed(const std::byte* from, std::size_t count, std::size_t step, std::byte* to) {
  for (std::size_t i = 0; i < count; ++i, from += kSize, to += step) std::memcpy(to, from, kSize);
}

// Copies adjacent elements to positions `step` bytes apart.
void spread(ByteSpan from, std::size_t size, std::size_t step, std::byte* to) {
  const std::size_t count = from.size() / size;
  switch (size) {
    case 1:
      return spread_fixed<1>(from.data(), count, step, to);
    case 2:
      return spread_fixed<2>(from.data(), count, step, to);
    case 4:
      return spread_fixed<4>(from.data(), count, step, to);
    case 8:
      return spread_fixed<8>(from.data(), count, step, to);
    default:
      for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * step, from.data() + i * size, size);
  }
}

class JoinedReader final : public DatasetReader {
 public:
  JoinedReader(object::DatasetDescription joined, std::vector<ReaderPtr> members)
      : DatasetReader(std::move(joined)), members_(std::move(members)) {}

  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const override {
    H5_TRY(check_inside(offset, out.size()));
    if (out.empty()) return {};
    const std::uint64_t row = description().element_size, first = offset / row;
    const std::uint64_t last = divide_up(offset + out.size(), row);
    if (offset % row == 0 && out.size() % row == 0) return read_rows(first, out, budget);
    std::vector<std::byte> rows(static_cast<std::size_t>((last - first) * row));
    H5_TRY(read_rows(first, rows, budget));
    std::memcpy(out.data(), rows.data() + offset % row, out.size());
    return {};
  }

  // The first byte of a row in which any member has data.
  Result<std::uint64_t> find_data(std::uint64_t offset, RequestBudget& budget) const override {
    const std::uint64_t row = description().element_size;
    std::uint64_t first = format::kUnlimited;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const std::uint64_t bytes = description().type->members[i].type->size;
      const auto data = members_[i]->find_data(offset / row * bytes, budget);
      if (data) first = std::min(first, *data / bytes);
      if (!data && data.error().code() != ErrorCode::NotFound) return fail(data.error());
    }
    if (first >= size() / row) return fail({ErrorCode::NotFound, "no data after this offset"});
    return std::max(offset, first * row);
  }

  std::optional<Error> problem() const override {
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (const auto problem = members_[i]->problem()) return of_member(i, *problem);
    return std::nullopt;
  }

 private:
  Error of_member(std::size_t index, const Error& error) const {
    return error.within(std::string("the dataset ").append(description().type->members[index].name));
  }

  // Reads whole elements.
  Status read_rows(std::uint64_t first, MutableByteSpan out, RequestBudget& budget) const {
    const auto row = static_cast<std::size_t>(description().element_size);
    const std::size_t count = out.size() / row;
    std::vector<std::byte> values;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const format::CompoundMember& member = description().type->members[i];
      values.resize(count * member.type->size);
      if (const Status read = members_[i]->read_into(first * member.type->size, values, budget); !read)
        return fail(of_member(i, read.error()));
      spread(values, member.type->size, row, out.data() + member.offset);
    }
    return {};
  }

  const std::vector<ReaderPtr> members_;
};

// Whether both have the same members at the same offsets.
bool same_form(const object::DatasetDescription& joined, const object::DatasetDescription& before) {
  return std::ranges::equal(before.type->members, joined.type->members,
                            [](const format::CompoundMember& a, const format::CompoundMember& b) {
                              return a.name == b.name && a.type->size == b.type->size;
                            });
}

}  // namespace

Result<object::DatasetDescription> describe_joined(std::uint64_t address,
                                                   std::span<const JoinedMember> members) {
  object::DatasetDescription out;
  out.address = address;
  out.joined = true;
  auto type = std::make_shared<format::Datatype>();
  type->cls = format::DatatypeClass::Compound;
  std::uint64_t size = 0, rows = format::kUnlimited, chunk_rows = 0;
  bool grows = !members.empty();
  for (const auto& [name, dataset] : members) {
    if (size + dataset->element_size > std::numeric_limits<std::uint32_t>::max())
      return fail({ErrorCode::TooLarge, "the datasets side by side have too large elements"});
    type->members.push_back({name, static_cast<std::uint32_t>(size), dataset->type});
    type->has_variable_part = type->has_variable_part || dataset->type->has_variable_part;
    type->has_reference = type->has_reference || dataset->type->has_reference;
    size += dataset->element_size;
    rows = std::min(rows, dataset->space.dims.at(0));
    grows = grows && !dataset->space.max_dims.empty() && dataset->space.max_dims[0] > dataset->space.dims[0];
    if (dataset->layout.cls == format::LayoutClass::Chunked && !dataset->layout.chunk_dims.empty())
      chunk_rows = std::gcd(chunk_rows, dataset->layout.chunk_dims[0]);
  }
  type->size = static_cast<std::uint32_t>(size);
  const auto bytes = checked_mul(rows, size);
  if (!bytes || *bytes > kMaxImageBytes)
    return fail({ErrorCode::TooLarge, "the datasets side by side are too large"});
  out.type = std::move(type);
  out.element_size = size;
  out.image_bytes = *bytes;
  out.space.kind = format::DataspaceKind::Simple;
  out.space.dims = {rows};
  out.space.max_dims = {grows ? format::kUnlimited : rows};
  if (chunk_rows > 0) {
    out.layout.cls = format::LayoutClass::Chunked;
    out.layout.chunk_dims = {chunk_rows};
  }
  return out;
}

ReaderPtr open_joined(object::DatasetDescription joined, std::vector<ReaderPtr> members) {
  return std::make_shared<JoinedReader>(std::move(joined), std::move(members));
}

std::vector<ByteRange> stale_in_joined(const object::DatasetDescription& joined,
                                       const object::DatasetDescription& before,
                                       std::span<const std::vector<ByteRange>> stale) {
  if (!same_form(joined, before)) return {kWholeImage};
  std::vector<ByteRange> out;
  for (std::size_t i = 0; i < stale.size(); ++i) {
    const std::uint64_t size = joined.type->members[i].type->size, row = joined.element_size;
    for (const ByteRange& range : stale[i]) {
      const std::uint64_t begin = checked_mul(range.begin / size, row).value_or(format::kUnlimited);
      const std::uint64_t end = checked_mul(divide_up(range.end, size), row).value_or(format::kUnlimited);
      if (begin < before.image_bytes) out.push_back({begin, end});
    }
  }
  return out;
}

}  // namespace h5mount::dataset

#include "h5mount/dataset/dataset_columns.h"

#include <cstring>
#include <limits>
#include <numeric>

#include "h5mount/base/checked.h"
#include "h5mount/dataset/readers_over.h"

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

class ColumnsReader final : public ElementsReader {
 public:
  ColumnsReader(object::DatasetDescription whole, std::vector<ReaderPtr> members)
      : ElementsReader(std::move(whole)), members_(std::move(members)) {}

  // The first byte of a row in which any member has data.
  Result<std::uint64_t> find_data(std::uint64_t offset, RequestBudget& budget) const override {
    const std::uint64_t row = description().element_size;
    std::uint64_t first = format::kUnlimited;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const std::uint64_t bytes = members_[i]->description().element_size;
      const auto data = members_[i]->find_data(offset / row * bytes, budget);
      if (data) first = std::min(first, *data / bytes);
      if (!data && data.error().code() != ErrorCode::NotFound) return fail(data.error());
    }
    if (first >= size() / row) return fail({ErrorCode::NotFound, "no data after this offset"});
    return std::max(offset, first * row);
  }

  std::optional<Error> problem() const override {
    std::uint64_t offset = 0;
    for (const ReaderPtr& member : members_) {
      if (const auto problem = member->problem()) return of_member(offset, *problem);
      offset += member->description().element_size;
    }
    return std::nullopt;
  }

 private:
  // `offset`: of the member in a row.
  Error of_member(std::uint64_t offset, const Error& error) const {
    const auto& all = description().type->members;
    const auto found = std::ranges::find(all, offset, &format::CompoundMember::offset);
    return found == all.end() ? error : error.within("the dataset " + found->name);
  }

  Status read_elements(std::uint64_t first, MutableByteSpan out, RequestBudget& budget) const override {
    const auto row = static_cast<std::size_t>(description().element_size);
    const std::size_t count = out.size() / row;
    std::vector<std::byte> values;
    std::size_t offset = 0;
    for (const ReaderPtr& member : members_) {
      const auto bytes = static_cast<std::size_t>(member->description().element_size);
      values.resize(count * bytes);
      if (const Status read = member->read_into(first * bytes, values, budget); !read)
        return fail(of_member(offset, read.error()));
      spread(values, bytes, row, out.data() + offset);
      offset += bytes;
    }
    return {};
  }

  const std::vector<ReaderPtr> members_;
};

// Whether both have the same members at the same offsets.
bool same_form(const object::DatasetDescription& whole, const object::DatasetDescription& before) {
  return std::ranges::equal(before.type->members, whole.type->members,
                            [](const format::CompoundMember& a, const format::CompoundMember& b) {
                              return a.name == b.name && a.type->size == b.type->size;
                            });
}

}  // namespace

Result<object::DatasetDescription> describe_columns(std::uint64_t address,
                                                    std::span<const DatasetColumn> members) {
  object::DatasetDescription out;
  out.address = address;
  out.side_by_side = true;
  auto type = std::make_shared<format::Datatype>();
  type->cls = format::DatatypeClass::Compound;
  std::vector<format::CompoundMember> masks;        // which are behind all columns
  std::vector<std::optional<std::size_t>> mask_of;  // of each column, among the masks
  std::uint64_t size = 0, rows = format::kUnlimited, chunk_rows = 0;
  bool grows = !members.empty();
  for (const auto& [name, dataset, categories, is_mask] : members) {
    if (size + dataset->element_size > std::numeric_limits<std::uint32_t>::max())
      return fail({ErrorCode::TooLarge, "the datasets side by side have too large elements"});
    const auto offset = static_cast<std::uint32_t>(size);
    if (is_mask) {
      mask_of.back() = masks.size();
      masks.push_back({name, offset, dataset->type});
    } else if (dataset->side_by_side) {
      const auto& own = dataset->type->members;
      for (std::size_t i = 0; i < dataset->masks.size(); ++i) {
        const std::string& own_name = dataset->masks.size() == 1 ? name : own[i].name;
        type->members.push_back({own_name, offset + own[i].offset, own[i].type});
        mask_of.emplace_back();
        if (!dataset->masks[i]) continue;
        const format::CompoundMember& mask = own[*dataset->masks[i]];
        mask_of.back() = masks.size();
        masks.push_back({mask.name, offset + mask.offset, mask.type});
      }
      out.categories.resize(mask_of.size());
    } else {
      type->members.push_back({name, offset, dataset->type});
      mask_of.emplace_back();
      out.categories.push_back(categories);
    }
    type->has_variable_part = type->has_variable_part || dataset->type->has_variable_part;
    type->has_reference = type->has_reference || dataset->type->has_reference;
    size += dataset->element_size;
    rows = std::min(rows, dataset->space.dims.at(0));
    grows = grows && !dataset->space.max_dims.empty() && dataset->space.max_dims[0] > dataset->space.dims[0];
    if (dataset->layout.cls == format::LayoutClass::Chunked && !dataset->layout.chunk_dims.empty())
      chunk_rows = std::gcd(chunk_rows, dataset->layout.chunk_dims[0]);
  }
  const std::size_t columns = mask_of.size();
  for (std::optional<std::size_t>& mask : mask_of)
    if (mask) *mask += columns;
  type->members.insert(type->members.end(), masks.begin(), masks.end());
  type->size = static_cast<std::uint32_t>(size);
  const auto bytes = checked_mul(rows, size);
  if (!bytes || *bytes > kMaxImageBytes)
    return fail({ErrorCode::TooLarge, "the datasets side by side are too large"});
  out.masks = std::move(mask_of);
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

ReaderPtr open_columns(object::DatasetDescription whole, std::vector<ReaderPtr> members) {
  return std::make_shared<ColumnsReader>(std::move(whole), std::move(members));
}

std::vector<ByteRange> stale_in_columns(const object::DatasetDescription& whole,
                                        const object::DatasetDescription& before,
                                        std::span<const StaleMember> stale) {
  if (!same_form(whole, before)) return {kWholeImage};
  std::vector<ByteRange> out;
  for (const auto& [size, ranges] : stale) {
    const std::uint64_t row = whole.element_size;
    for (const ByteRange& range : ranges) {
      const std::uint64_t begin = checked_mul(range.begin / size, row).value_or(format::kUnlimited);
      const std::uint64_t end = checked_mul(divide_up(range.end, size), row).value_or(format::kUnlimited);
      if (begin < before.image_bytes) out.push_back({begin, end});
    }
  }
  return out;
}

}  // namespace h5mount::dataset

#include "h5mount/dataset/matrix_entries.h"

#include <algorithm>
#include <cstring>

#include "h5mount/base/checked.h"
#include "h5mount/base/once_value.h"
#include "h5mount/dataset/converted_dataset.h"

namespace h5mount::dataset {

namespace {

constexpr std::string_view kMatrix = "SparseMatrix";
constexpr std::uint64_t kMostEntryBytes = (1ULL << 63) - 1;

using Widen = void (*)(const std::byte* from, std::size_t count, std::uint64_t* to);

// A negative number becomes one that is larger than any index.
template <class Stored, class Bits, bool kBig>
void widen(const std::byte* from, std::size_t count, std::uint64_t* to) {
  for (std::size_t i = 0; i < count; ++i, from += sizeof(Bits))
    to[i] = static_cast<std::uint64_t>(static_cast<Stored>(kBig ? load_be<Bits>(from) : load_le<Bits>(from)));
}

template <class Signed, class Bits>
Widen widen_of_size(const format::Datatype& type) {
  if (type.order == format::ByteOrder::Big)
    return type.is_signed ? widen<Signed, Bits, true> : widen<Bits, Bits, true>;
  return type.is_signed ? widen<Signed, Bits, false> : widen<Bits, Bits, false>;
}

// Null for types that are not integers of whole bytes.
Widen widen_of(const format::Datatype& type) {
  if (type.cls != format::DatatypeClass::Integer || type.order == format::ByteOrder::Vax ||
      type.bit_offset != 0 || type.bit_precision != 8 * type.size)
    return nullptr;
  switch (type.size) {
    case 1:
      return widen_of_size<std::int8_t, std::uint8_t>(type);
    case 2:
      return widen_of_size<std::int16_t, std::uint16_t>(type);
    case 4:
      return widen_of_size<std::int32_t, std::uint32_t>(type);
    case 8:
      return widen_of_size<std::int64_t, std::uint64_t>(type);
    default:
      return nullptr;
  }
}

// Reads integers of a dataset of which `widen_of` knows the type.
Status read_integers(const DatasetReader& reader, std::uint64_t first, std::span<std::uint64_t> out,
                     std::vector<std::byte>& stored, RequestBudget& budget) {
  const object::DatasetDescription& dataset = reader.description();
  stored.resize(out.size() * static_cast<std::size_t>(dataset.element_size));
  H5_TRY(budget.spend(stored.size()));
  H5_TRY(reader.read_into(first * dataset.element_size, stored, budget));
  widen_of (*dataset.type)(stored.data(), out.size(), out.data());
  return {};
}

// The pointers of a matrix. All are looked at once; of many only some are held, between which others are
// read.
class Pointers {
 public:
  struct Line {
    std::uint64_t index = 0, end = 0;  // a row or column, and the place where its entries end
  };

  static Result<std::shared_ptr<const Pointers>> load(DatasetReaderPtr reader, std::uint64_t entries,
                                                      const cache::BlockCache& cache, RequestBudget& budget) {
    constexpr std::uint64_t kMostHeld = 1U << 20, kAtOnce = 64U << 10;
    auto out = std::make_shared<Pointers>();
    out->reader_ = std::move(reader);
    const std::uint64_t count = out->reader_->description().space.dims[0];
    out->step_ = std::max<std::uint64_t>(1, divide_up(count, kMostHeld));
    const auto held = static_cast<std::size_t>(divide_up(count, out->step_));
    H5_ASSIGN(out->charge_, cache.charge(held * sizeof(std::uint64_t)));
    out->held_.reserve(held);
    std::vector<std::uint64_t> some;
    std::vector<std::byte> stored;
    for (std::uint64_t first = 0, last = 0; first < count; first += some.size()) {
      some.resize(static_cast<std::size_t>(std::min(kAtOnce, count - first)));
      H5_TRY(read_integers(*out->reader_, first, some, stored, budget));
      for (const std::uint64_t pointer : some) {
        if (pointer < last || pointer > entries) return out;
        if (out->sound_ % out->step_ == 0) out->held_.push_back(pointer);
        last = pointer;
        ++out->sound_;
      }
    }
    return out;
  }

  Result<Line> line_of(std::uint64_t entry, RequestBudget& budget) const {
    const std::size_t after = above(held_, entry);
    if (after == 0) return fail(wrong(entry));
    if (step_ == 1)
      return after < held_.size() ? Result<Line>({after - 1, held_[after]}) : fail(wrong(entry));
    const std::uint64_t first = (after - 1) * step_;
    std::vector<std::uint64_t> some(static_cast<std::size_t>(std::min(step_ + 1, sound_ - first)));
    std::vector<std::byte> stored;
    H5_TRY(read_integers(*reader_, first, some, stored, budget));
    const std::size_t behind = above(some, entry);
    if (behind == 0 || behind == some.size()) return fail(wrong(entry));
    return Line{first + behind - 1, some[behind]};
  }

  // The line of a later entry than those of `line`.
  Result<Line> next_line(Line line, std::uint64_t entry, RequestBudget& budget) const {
    constexpr unsigned kNear = 8;
    for (unsigned i = 0; step_ == 1 && i < kNear && line.index + 2 < held_.size(); ++i) {
      ++line.index;
      line.end = held_[static_cast<std::size_t>(line.index) + 1];
      if (entry < line.end) return line;
    }
    return line_of(entry, budget);
  }

 private:
  static std::size_t above(const std::vector<std::uint64_t>& pointers, std::uint64_t entry) {
    return static_cast<std::size_t>(std::ranges::upper_bound(pointers, entry) - pointers.begin());
  }

  Error wrong(std::uint64_t entry) const {
    const object::DatasetDescription& dataset = reader_->description();
    const Error error(ErrorCode::InvalidValue, kMatrix, "indptr", dataset.address);
    if (sound_ == dataset.space.dims[0]) return error.with_found(entry).with_detail("an entry of no row");
    return error.with_found(sound_).with_detail(
        "the number of the pointer that falls, or is beyond the data");
  }

  DatasetReaderPtr reader_;
  std::uint64_t step_ = 1;   // of which one is held
  std::uint64_t sound_ = 0;  // that do not fall and are not beyond the entries, counted from the first
  std::vector<std::uint64_t> held_;
  cache::BlockCache::Charge charge_;
};

class EntriesReader final : public DatasetReader {
 public:
  EntriesReader(object::DatasetDescription described, bool by_rows,
                std::shared_ptr<const cache::BlockCache> cache, std::vector<DatasetReaderPtr> of)
      : DatasetReader(std::move(described)),
        by_rows_(by_rows),
        cache_(std::move(cache)),
        of_(std::move(of)) {}

  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const override {
    H5_TRY(check_inside(offset, out.size()));
    if (out.empty()) return {};
    const std::uint64_t size = description().element_size, first = offset / size;
    if (offset % size == 0 && out.size() % size == 0) return read_entries(first, out, budget);
    std::vector<std::byte> whole(
        static_cast<std::size_t>((divide_up(offset + out.size(), size) - first) * size));
    H5_TRY(read_entries(first, whole, budget));
    std::memcpy(out.data(), whole.data() + offset % size, out.size());
    return {};
  }

  std::optional<Error> problem() const override {
    for (const DatasetReaderPtr& reader : of_)
      if (auto problem = reader->problem()) return problem;
    return std::nullopt;
  }
  bool sources_changed() const override {
    return std::ranges::any_of(of_, [](const auto& reader) { return reader->sources_changed(); });
  }

 private:
  // Reads whole entries; there are some, so that the matrix has values and indices.
  Status read_entries(std::uint64_t first, MutableByteSpan out, RequestBudget& budget) const {
    const DatasetReader &values = *of_[0], &indices = *of_[1];
    const auto load = [&] { return Pointers::load(of_[2], description().space.dims[0], *cache_, budget); };
    H5_ASSIGN(const std::shared_ptr<const Pointers> pointers, pointers_.get(load, budget));
    const auto size = static_cast<std::size_t>(description().element_size);
    const auto value_bytes = static_cast<std::size_t>(values.description().element_size);
    const std::size_t count = out.size() / size;
    std::vector<std::byte> stored;
    std::vector<std::uint64_t> other(count);
    H5_TRY(read_integers(indices, first, other, stored, budget));
    stored.resize(count * value_bytes);
    H5_TRY(values.read_into(first * value_bytes, stored, budget));
    const std::uint64_t most = description().matrix[by_rows_ ? 1 : 0];
    H5_ASSIGN(Pointers::Line line, pointers->line_of(first, budget));
    std::byte* to = out.data();
    for (std::size_t i = 0; i < count; ++i, to += size) {
      if (first + i >= line.end) {
        H5_ASSIGN(line, pointers->next_line(line, first + i, budget));
      }
      if (other[i] >= most)
        return fail(Error(ErrorCode::OutOfRange, kMatrix, "indices", indices.description().address)
                        .with_found(other[i])
                        .with_expected(most));
      std::memcpy(to + (by_rows_ ? EntryPlaces::kRow : EntryPlaces::kColumn), &line.index, sizeof line.index);
      std::memcpy(to + (by_rows_ ? EntryPlaces::kColumn : EntryPlaces::kRow), &other[i], sizeof other[i]);
      std::memcpy(to + EntryPlaces::kValue, stored.data() + i * value_bytes, value_bytes);
    }
    return {};
  }

  const bool by_rows_;
  const std::shared_ptr<const cache::BlockCache> cache_;
  const std::vector<DatasetReaderPtr> of_;
  mutable OnceValue<std::shared_ptr<const Pointers>> pointers_;
};

// Half floats are shown as singles, which have the same values.
bool is_half(const format::Datatype& type) {
  return type.cls == format::DatatypeClass::Float && type.size == 2;
}

Error invalid(std::string_view field, const object::DatasetDescription& dataset) {
  return {ErrorCode::InvalidValue, kMatrix, field, dataset.address};
}

}  // namespace

Result<object::DatasetDescription> describe_entries(
    std::uint64_t address, const MatrixShape& shape,
    std::span<const std::shared_ptr<const object::DatasetDescription>> of) {
  constexpr std::string_view kFields[] = {"data", "indices", "indptr"};
  for (std::size_t i = 0; i < of.size(); ++i) {
    const std::size_t field = of.size() == 1 ? 2 : i;
    if (of[i]->space.rank() != 1)
      return fail(invalid(kFields[field], *of[i]).with_detail("not one dimension"));
    if (field > 0 && widen_of(*of[i]->type) == nullptr)
      return fail(invalid(kFields[field], *of[i]).with_detail("not integers"));
  }
  const object::DatasetDescription& pointers = *of.back();
  if (pointers.space.dims[0] == 0 || pointers.space.dims[0] - 1 != shape.compressed())
    return fail(invalid("indptr", pointers).with_found(pointers.space.dims[0]).with_detail("pointers"));
  object::DatasetDescription out;
  out.address = address;
  out.matrix = {shape.rows, shape.columns};
  auto type = std::make_shared<format::Datatype>();
  type->cls = format::DatatypeClass::Compound;
  const auto index = integer_type(8, false, format::ByteOrder::Little);
  const auto value = of.size() == 1          ? float_type(8, format::ByteOrder::Little)
                     : is_half(*of[0]->type) ? float_type(4, format::ByteOrder::Little)
                                             : of[0]->type;
  type->members = {{"row", EntryPlaces::kRow, index},
                   {"column", EntryPlaces::kColumn, index},
                   {"value", EntryPlaces::kValue, value}};
  const auto size = checked_add(EntryPlaces::kValue, value->size);
  const std::uint64_t entries = of.size() == 1 ? 0 : std::min(of[0]->space.dims[0], of[1]->space.dims[0]);
  const auto bytes = size ? checked_mul(entries, *size) : std::nullopt;
  if (!bytes || *bytes > kMostEntryBytes || *size > std::numeric_limits<std::uint32_t>::max())
    return fail({ErrorCode::TooLarge, "the entries of the matrix are too large"});
  type->size = static_cast<std::uint32_t>(*size);
  out.type = std::move(type);
  out.element_size = *size;
  out.image_bytes = *bytes;
  out.space.kind = format::DataspaceKind::Simple;
  out.space.dims = out.space.max_dims = {entries};
  return out;
}

Result<DatasetReaderPtr> open_entries(object::DatasetDescription described, bool by_rows,
                                      std::shared_ptr<const cache::BlockCache> cache,
                                      std::vector<DatasetReaderPtr> of) {
  const format::DatatypePtr& shown = described.type->members.back().type;
  if (const format::DatatypePtr& stored = of[0]->description().type; is_half(*stored)) {
    H5_ASSIGN(of[0], open_converted(of[0], {shown, stored, shown}));
  }
  return std::make_shared<EntriesReader>(std::move(described), by_rows, std::move(cache), std::move(of));
}

}  // namespace h5mount::dataset

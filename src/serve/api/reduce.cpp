#include "reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../http/answer_memory.h"
#include "h5mount/base/text.h"
#include "h5mount/dataset/converted_dataset.h"
#include "h5mount/dataset/open_dataset.h"
#include "number_blocks.h"

namespace h5mount::serve {
namespace {

constexpr std::uint64_t kMaxPoints = 1U << 20;
constexpr std::uint64_t kMaxParts = 1U << 16;  // largest number of parts of a series

// The position at which the part with number `part` of `parts` parts begins.
std::uint64_t part_begin(std::uint64_t part, std::uint64_t parts, std::uint64_t count) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(part) * count / parts);
}

std::optional<std::vector<std::uint64_t>> points_of(const Query& query) {
  const std::string text = query.get("points").value_or("");
  std::vector<std::uint64_t> out;
  for (std::string_view rest = text; !rest.empty();) {
    out.push_back(parse_whole<std::uint64_t>(take_until(rest, ',')).value_or(0));
    if (out.back() == 0) return std::nullopt;
  }
  return out;
}

template <class Number>
constexpr bool kHasNan = std::is_floating_point_v<Number>;

// The least and the greatest number of each part.
template <class Number>
class Extremes {
 public:
  Extremes(std::uint64_t parts, std::uint64_t count)
      : parts_(parts), count_(count), out_(2 * parts, none()) {}

  void add(std::span<const Number> block) {
    for (const Number value : block) (void)note(value, 1);
  }
  // The same number `count` times.
  void add_run(Number value, std::uint64_t count) {
    while (count > 0) count -= note(value, count);
  }
  ByteSpan bytes() const { return std::as_bytes(std::span(out_)); }

 private:
  // Takes at most `count` numbers of one value: those of one part. Returns how many.
  std::uint64_t note(Number value, std::uint64_t count) {
    const bool first = at_ == end_;
    if (first) end_ = part_begin(++next_, parts_, count_);
    count = std::min(count, end_ - at_);
    at_ += count;
    Number& least = out_[2 * (next_ - 1)];
    Number& most = out_[2 * (next_ - 1) + 1];
    if (first || is_none(least) || value < least) least = value;
    if (first || is_none(most) || value > most) most = value;
    return count;
  }

  static Number none() { return kHasNan<Number> ? std::numeric_limits<Number>::quiet_NaN() : Number{}; }
  static bool is_none(Number value) {
    if constexpr (kHasNan<Number>) return std::isnan(value);
    return false;
  }
  const std::uint64_t parts_, count_;
  std::uint64_t at_ = 0, end_ = 0, next_ = 0;
  std::vector<Number> out_;
};

// The means of the rectangles that rows and columns are divided into. As rows come in order, sums are kept
// for only one row of means.
class Means {
 public:
  Means(const std::vector<std::uint64_t>& points, const std::vector<std::uint64_t>& dims)
      : rows_(points[0]), columns_(points[1]), dims_(dims), sums_(columns_), counts_(columns_) {
    out_.reserve(static_cast<std::size_t>(rows_ * columns_));
  }

  template <class Number>
  void add(std::span<const Number> block) {
    for (const Number number : block) (void)note(static_cast<double>(number), 1);
  }
  // The same number `count` times.
  void add_run(double value, std::uint64_t count) {
    while (count > 0)
      count -= column_ == 0 && count >= dims_[1] ? note_rows(value, count / dims_[1]) : note(value, count);
  }
  ByteSpan bytes() const { return std::as_bytes(std::span(out_)); }

 private:
  void sum_up(std::uint64_t part, double value, std::uint64_t count) {
    if (std::isnan(value)) return;
    sums_[static_cast<std::size_t>(part)] += value * static_cast<double>(count);
    counts_[static_cast<std::size_t>(part)] += count;
  }
  // Takes at most `count` numbers of one value: those of one part of a row. Returns how many.
  std::uint64_t note(double value, std::uint64_t count) {
    if (column_ == end_) end_ = part_begin(++part_, columns_, dims_[1]);
    count = std::min(count, end_ - column_);
    sum_up(part_ - 1, value, count);
    column_ += count;
    if (column_ == dims_[1]) end_rows(1);
    return count;
  }
  // Takes at most `count` rows of one value: those of one row of means. Returns the number of numbers.
  std::uint64_t note_rows(double value, std::uint64_t count) {
    count = std::min(count, part_begin(row_part_ + 1, rows_, dims_[0]) - row_);
    for (std::uint64_t i = 0; i < columns_; ++i)
      sum_up(i, value, count * (part_begin(i + 1, columns_, dims_[1]) - part_begin(i, columns_, dims_[1])));
    end_rows(count);
    return count * dims_[1];
  }
  void end_rows(std::uint64_t count) {
    column_ = end_ = part_ = 0;
    row_ += count;
    if (row_ < part_begin(row_part_ + 1, rows_, dims_[0])) return;
    ++row_part_;
    for (std::size_t i = 0; i < sums_.size(); ++i)
      out_.push_back(counts_[i] > 0 ? sums_[i] / static_cast<double>(counts_[i])
                                    : std::numeric_limits<double>::quiet_NaN());
    std::ranges::fill(sums_, 0);
    std::ranges::fill(counts_, 0);
  }

  const std::uint64_t rows_, columns_;
  const std::vector<std::uint64_t>& dims_;
  std::uint64_t row_ = 0, column_ = 0, end_ = 0, part_ = 0, row_part_ = 0;
  std::vector<double> sums_;
  std::vector<std::uint64_t> counts_;
  std::vector<double> out_;
};

// A dataset whose elements are in memory, and the charge for them.
struct Held {
  MemoryCharge charge;
  view::DatasetReaderPtr reader;
};

// The numbers are held twice: in the reader and in its description.
constexpr std::size_t kHeldTimes = 2;

// `charge`: for at least as much as is held.
Result<view::DatasetReaderPtr> hold(const view::ViewInput& source, std::vector<std::uint64_t> dims,
                                    const format::DatatypePtr& type, ByteSpan data, MemoryCharge charge) {
  auto held = std::make_shared<Held>();
  held->charge = std::move(charge);
  object::DatasetDescription description;
  description.type = type;
  description.element_size = type->size;
  description.image_bytes = data.size();
  description.space.kind = format::DataspaceKind::Simple;
  description.space.dims = description.space.max_dims = std::move(dims);
  description.layout.cls = format::LayoutClass::Compact;
  description.layout.compact_data.assign(data.begin(), data.end());
  H5_ASSIGN(held->reader, dataset::open_dataset(source.environment, source.file, description));
  H5_TRY(held->charge.resize(kHeldTimes * data.size()));
  const auto* const reader = held->reader.get();
  return view::DatasetReaderPtr(std::move(held), reader);
}

// Charges what reading takes, and the numbers as they are made and held.
Result<MemoryCharge> take_reduced(const view::ViewInput& source, std::uint64_t bytes, RequestWork& work) {
  return take_memory(source.environment.cache,
                     kNumberBytes + (1 + kHeldTimes) * static_cast<std::size_t>(bytes), work);
}

template <class Number>
Result<view::DatasetReaderPtr> extremes(const view::ViewInput& source, const dataset::DatasetReader& reader,
                                        std::uint64_t points, RequestWork& work) {
  const std::uint64_t count = reader.description().space.dims[0];
  points = std::min(points, count);
  H5_ASSIGN(MemoryCharge charge, take_reduced(source, 2 * points * sizeof(Number), work));
  Extremes<Number> out(points, count);
  H5_TRY(for_each_block<Number>(
      reader, work, [&](std::span<const Number> block) { out.add(block); },
      [&](Number value, std::uint64_t times) { out.add_run(value, times); }));
  const format::DatatypePtr type =
      std::is_floating_point_v<Number>
          ? dataset::float_type(sizeof(Number), format::ByteOrder::Little)
          : dataset::integer_type(sizeof(Number), std::is_signed_v<Number>, format::ByteOrder::Little);
  return hold(source, {points, 2}, type, out.bytes(), std::move(charge));
}

template <class Number>
Result<view::DatasetReaderPtr> means(const view::ViewInput& source, const dataset::DatasetReader& reader,
                                     std::vector<std::uint64_t> points, RequestWork& work) {
  const std::vector<std::uint64_t>& dims = reader.description().space.dims;
  for (std::size_t i = 0; i < 2; ++i) points[i] = std::min(points[i], dims[i]);
  // A row of means has sums and counts too.
  const std::uint64_t bytes = (points[0] + 2) * points[1] * sizeof(double);
  H5_ASSIGN(MemoryCharge charge, take_reduced(source, bytes, work));
  Means out(points, dims);
  H5_TRY(for_each_block<Number>(
      reader, work, [&](std::span<const Number> block) { out.add(block); },
      [&](Number value, std::uint64_t times) { out.add_run(static_cast<double>(value), times); }));
  return hold(source, points, dataset::float_type(8, format::ByteOrder::Little), out.bytes(),
              std::move(charge));
}

}  // namespace

Result<view::DatasetReaderPtr> reduced(const ApiRequest& request, const std::string& how,
                                       const view::ViewInput& source) {
  if (how != "minmax" && how != "mean") return fail(refused("Unsupported reduction " + how));
  const std::size_t rank = how == "minmax" ? 1 : 2;
  const auto points = points_of(request.query);
  if (!points || points->size() != rank || (rank == 1 && points->front() > kMaxParts) ||
      (rank == 2 && points->front() > kMaxPoints / points->back()))
    return fail(refused("reduce=" + how + " needs points=" + (rank == 1 ? "N" : "N,M") + ", not too many"));
  const auto& description = source.reader->description();
  if (description.space.dims.size() != rank || description.type->cls == format::DatatypeClass::Array)
    return fail(refused("reduce=" + how + " is of " + (rank == 1 ? "one dimension" : "two dimensions")));
  if (description.image_bytes == 0) return source.reader;
  H5_ASSIGN(const view::DatasetReaderPtr reader, open_numbers(source.reader, NumberForm::Safe));
  const auto kind = number_kind(*reader->description().type);
  if (!kind) return fail(refused("such numbers are not reduced"));
  return with_number(*kind, [&]<class Number>(Number) {
    return rank == 1 ? extremes<Number>(source, *reader, points->front(), request.work)
                     : means<Number>(source, *reader, *points, request.work);
  });
}

}  // namespace h5mount::serve

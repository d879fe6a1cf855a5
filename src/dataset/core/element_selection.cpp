#include "element_selection.h"

#include <numeric>

#include "h5mount/base/checked.h"
#include "h5mount/base/row_major.h"

namespace h5mount::dataset {
namespace {

constexpr std::size_t kMaxSelectedRuns = 4U << 20;  // held in memory for one irregular selection

Error invalid(std::string_view field, std::uint64_t found, std::string why) {
  return Error(ErrorCode::InvalidValue, "Selection", field, ~std::uint64_t{0})
      .with_found(found)
      .with_detail(std::move(why));
}

}  // namespace

Result<ElementSelection> ElementSelection::make(const format::Selection& selection,
                                                std::span<const std::uint64_t> dims,
                                                std::optional<Clip> clip) {
  ElementSelection made;
  made.dims_.assign(dims.begin(), dims.end());
  if (made.dims_.empty()) made.dims_.push_back(1);  // a scalar is one element
  if (selection.rank != 0 && selection.rank != made.dims_.size())
    return fail(invalid("rank", selection.rank, "not the rank of the extent"));
  Status status;
  switch (selection.kind) {
    case format::Selection::Kind::None:
      return made;
    case format::Selection::Kind::All: {
      format::Selection whole;
      whole.start.assign(made.dims_.size(), 0);
      whole.stride = whole.block = made.dims_;
      whole.count.assign(made.dims_.size(), 1);
      status = made.make_product(whole, {});
      break;
    }
    case format::Selection::Kind::Points:
      status = made.make_points(selection);
      break;
    case format::Selection::Kind::Hyperslab:
      status = selection.regular ? made.make_product(selection, clip) : made.make_blocks(selection);
      break;
  }
  if (!status) return fail(std::move(status).error());
  return made;
}

std::optional<ElementSelection::Box> ElementSelection::box() const {
  if (!product_ || axes_.size() != dims_.size()) return std::nullopt;
  Box out;
  for (const Axis& axis : axes_) {
    if (axis.run_from(0) != axis.length) return std::nullopt;
    out.start.push_back(axis.start);
    out.extent.push_back(axis.length);
  }
  return out;
}

Status ElementSelection::make_product(const format::Selection& s, std::optional<Clip> clip) {
  product_ = true;
  count_ = 1;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    Axis axis{s.start[i], s.stride[i], s.block[i], 0};
    if (clip && clip->dimension == i) {
      axis.length = clip->slices;
      if (axis.block == format::kUnlimited)
        axis.block = axis.stride = std::max<std::uint64_t>(1, axis.length);
    } else {
      const auto length = checked_mul(s.count[i], s.block[i]);
      if (s.count[i] == format::kUnlimited || s.block[i] == format::kUnlimited || !length)
        return fail(invalid("count", s.count[i], "unlimited where it cannot be"));
      axis.length = *length;
    }
    if (axis.length == 0) {
      count_ = 0;
      return {};
    }
    if (axis.length <= axis.block) axis.stride = axis.block;
    if (axis.stride < axis.block) return fail(invalid("stride", axis.stride, "smaller than the block"));
    const auto span = checked_mul((axis.length - 1) / axis.block, axis.stride);
    const auto last = span ? checked_add(*span, (axis.length - 1) % axis.block) : std::nullopt;
    const auto end = last ? checked_add(*last, axis.start) : std::nullopt;
    if (!end || *end >= dims_[i])
      return fail(invalid("start", axis.start, "the selection leaves the extent"));
    count_ *= axis.length;  // cannot overflow: the selection is within the extent
    axes_.push_back(axis);
  }
  return {};
}

Status ElementSelection::make_points(const format::Selection& s) {
  const std::size_t rank = dims_.size();
  for (std::size_t at = 0; at + rank <= s.points.size(); at += rank) {
    std::uint64_t linear = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      if (s.points[at + i] >= dims_[i])
        return fail(invalid("points", s.points[at + i], "outside the extent"));
      linear = linear * dims_[i] + s.points[at + i];
    }
    if (by_linear_.size() >= kMaxSelectedRuns)
      return fail(Error(ErrorCode::LimitExceeded, "a selection of too many points"));
    by_linear_.push_back({linear, 1, count_++});
  }
  std::ranges::stable_sort(by_linear_, {}, &Run::linear);
  by_ordinal_.resize(by_linear_.size());
  std::iota(by_ordinal_.begin(), by_ordinal_.end(), std::size_t{0});
  std::ranges::sort(by_ordinal_, {}, [&](std::size_t i) { return by_linear_[i].ordinal; });
  return {};
}

// One block, as libhdf5 writes every box for its own early versions.
Status ElementSelection::make_block(const format::Selection& s) {
  const std::size_t rank = dims_.size();
  format::Selection box;
  box.start.assign(s.blocks.begin(), s.blocks.begin() + static_cast<std::ptrdiff_t>(rank));
  box.count.assign(rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::uint64_t end = s.blocks[rank + i];
    if (box.start[i] > end || end >= dims_[i]) return fail(invalid("blocks", end, "outside the extent"));
    box.block.push_back(end - box.start[i] + 1);
  }
  box.stride = box.block;
  return make_product(box, {});
}

Status ElementSelection::make_blocks(const format::Selection& s) {
  const std::size_t rank = dims_.size();
  if (s.blocks.size() == 2 * rank) return make_block(s);
  for (std::size_t at = 0; at + 2 * rank <= s.blocks.size(); at += 2 * rank) {
    const std::uint64_t* const start = &s.blocks[at];
    const std::uint64_t* const end = start + rank;
    for (std::size_t i = 0; i < rank; ++i)
      if (start[i] > end[i] || end[i] >= dims_[i])
        return fail(invalid("blocks", end[i], "outside the extent"));
    std::vector<std::uint64_t> c(start, start + rank), row(rank - 1, 0);
    do {
      for (std::size_t i = 0; i + 1 < rank; ++i) c[i] = start[i] + row[i];
      const std::uint64_t linear = row_major_number(c, dims_);
      if (by_linear_.size() >= kMaxSelectedRuns)
        return fail(Error(ErrorCode::LimitExceeded, "a selection of too many runs"));
      by_linear_.push_back({linear, end[rank - 1] - start[rank - 1] + 1, 0});
    } while (next_row_major(row, [&](std::size_t i) { return end[i] - start[i] + 1; }));
  }
  // Makes the union of the blocks in row-major order, whatever their own order is; overlaps count once.
  std::ranges::sort(by_linear_, {}, &Run::linear);
  std::size_t kept = 0;
  for (const Run& next : by_linear_) {
    if (kept > 0 && next.linear <= by_linear_[kept - 1].linear + by_linear_[kept - 1].length) {
      Run& last = by_linear_[kept - 1];
      last.length = std::max(last.length, next.linear + next.length - last.linear);
    } else {
      by_linear_[kept++] = next;
    }
  }
  by_linear_.resize(kept);
  for (Run& run : by_linear_) {
    run.ordinal = count_;
    count_ += run.length;
  }
  by_ordinal_.resize(kept);
  std::iota(by_ordinal_.begin(), by_ordinal_.end(), std::size_t{0});
  return {};
}

void ElementSelection::bounds(std::uint64_t& begin, std::uint64_t& end) const {
  begin = end = 0;
  if (count_ == 0) return;
  if (!product_) {
    begin = by_linear_.front().linear;
    end = by_linear_.back().linear + by_linear_.back().length;
    return;
  }
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    begin = begin * dims_[i] + axes_[i].coordinate(0);
    end = end * dims_[i] + axes_[i].coordinate(axes_[i].positions() - 1);
  }
  ++end;
}

// Sets `position` to the first row (all dimensions but the last) that contains `linear` or lies after it.
bool ElementSelection::first_row(std::uint64_t linear, std::vector<std::uint64_t>& position) const {
  std::vector<std::uint64_t> c(dims_.size());
  row_major_place(linear, dims_, c);
  for (std::size_t i = 0; i + 1 < dims_.size(); ++i) {
    position[i] = axes_[i].position_at_or_after(c[i]);
    if (position[i] == axes_[i].positions()) {
      // There is no position left in this dimension: the dimension before is advanced, and this one restarts.
      for (std::size_t k = i; k < position.size(); ++k) position[k] = 0;
      return next_row(std::span(position).first(i));
    }
    if (axes_[i].coordinate(position[i]) > c[i]) return true;  // the later dimensions start at 0
  }
  return true;
}

// Advances the positions of the first dimensions; returns false after the last.
bool ElementSelection::next_row(std::span<std::uint64_t> position) const {
  return next_row_major(position, [&](std::size_t i) { return axes_[i].positions(); }).has_value();
}

std::uint64_t ElementSelection::row_linear(std::span<const std::uint64_t> position) const {
  std::uint64_t linear = 0;
  for (std::size_t i = 0; i + 1 < dims_.size(); ++i)
    linear = linear * dims_[i] + axes_[i].coordinate(position[i]);
  return linear * dims_.back();
}

std::uint64_t ElementSelection::row_ordinal(std::span<const std::uint64_t> position) const {
  std::uint64_t ordinal = 0;
  for (std::size_t i = 0; i + 1 < dims_.size(); ++i) ordinal = ordinal * axes_[i].positions() + position[i];
  return ordinal * axes_.back().positions();
}

std::optional<std::size_t> unlimited_dimension(const format::Selection& s) {
  if (s.kind != format::Selection::Kind::Hyperslab || !s.regular) return std::nullopt;
  for (std::size_t i = 0; i < s.count.size(); ++i)
    if (s.count[i] == format::kUnlimited || s.block[i] == format::kUnlimited) return i;
  return std::nullopt;
}

std::uint64_t slices_within(const format::Selection& s, std::size_t d, std::uint64_t size) {
  if (size <= s.start[d]) return 0;
  const std::uint64_t left = size - s.start[d];
  if (s.block[d] == format::kUnlimited || s.stride[d] == 0 || s.stride[d] <= s.block[d]) return left;
  const std::uint64_t blocks = (left - 1) / s.stride[d];  // before the block that contains the last element
  return blocks * s.block[d] + std::min(s.block[d], left - blocks * s.stride[d]);
}

std::uint64_t extent_of_slices(const format::Selection& s, std::size_t d, std::uint64_t slices) {
  if (slices == 0 || s.block[d] == 0) return 0;
  if (s.block[d] == format::kUnlimited || s.stride[d] <= s.block[d])
    return checked_add(s.start[d], slices).value_or(format::kUnlimited);
  const auto before = checked_mul((slices - 1) / s.block[d], s.stride[d]);
  const auto size = before ? checked_add(*before, (slices - 1) % s.block[d] + 1) : std::nullopt;
  return size ? checked_add(*size, s.start[d]).value_or(format::kUnlimited) : format::kUnlimited;
}

}  // namespace h5mount::dataset

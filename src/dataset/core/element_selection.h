// ElementSelection: a dataspace selection over a known extent, as a sequence of elements: the n-th selected
// element of a virtual dataset is the n-th of its source. Both directions are computed on demand: from a
// range of the row-major extent to ordinals, and from ordinals to such ranges (runs). Immutable;
// threads: any.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "h5mount/base/error.h"
#include "h5mount/format/selection.h"

namespace h5mount::dataset {

class ElementSelection {
 public:
  // Limits a hyperslab that is unlimited in one dimension to its first `slices` positions there.
  struct Clip {
    std::size_t dimension;
    std::uint64_t slices;
  };
  // `dims` is the extent in elements. Fails with InvalidValue if elements lie outside the extent, and with
  // LimitExceeded if an irregular selection has too many runs. An unlimited selection needs a clip.
  static Result<ElementSelection> make(const format::Selection& selection,
                                       std::span<const std::uint64_t> dims, std::optional<Clip> clip = {});

  std::uint64_t count() const { return count_; }
  // A linear range [begin, end) outside of which nothing is selected.
  void bounds(std::uint64_t& begin, std::uint64_t& end) const;

  // Where it is one box, that box.
  struct Box {
    std::vector<std::uint64_t> start, extent;
  };
  std::optional<Box> box() const;

  // Visits the runs of selected elements within the linear range [begin, end), ascending: visit(linear,
  // length, ordinal) -> bool.
  template <class Visit>
  bool for_each_in_range(std::uint64_t begin, std::uint64_t end, Visit visit) const;

  // Visits the runs of the elements with ordinals [begin, end): visit(linear, length) -> bool, in
  // ordinal order.
  template <class Visit>
  bool for_each_ordinal(std::uint64_t begin, std::uint64_t end, Visit visit) const;

 private:
  struct Axis {  // a regular hyperslab in one dimension
    std::uint64_t start, stride, block, length;
    std::uint64_t positions() const { return length; }  // the last block may be incomplete
    std::uint64_t coordinate(std::uint64_t position) const {
      return start + position / block * stride + position % block;
    }
    // The first position whose coordinate is at least `c`; positions() if there is none.
    std::uint64_t position_at_or_after(std::uint64_t c) const {
      if (c <= start) return 0;
      const std::uint64_t k = (c - start) / stride, within = (c - start) % stride;
      if (k > length / block) return length;
      return std::min(length, within < block ? k * block + within : (k + 1) * block);
    }
    // The number of positions from `p` on whose coordinates are consecutive.
    std::uint64_t run_from(std::uint64_t p) const {
      return stride == block ? length - p : std::min(length - p, block - p % block);
    }
  };
  struct Run {
    std::uint64_t linear, length, ordinal;
  };

  Status make_product(const format::Selection& selection, std::optional<Clip> clip);
  Status make_points(const format::Selection& selection);
  Status make_block(const format::Selection& selection);
  Status make_blocks(const format::Selection& selection);
  bool first_row(std::uint64_t linear, std::vector<std::uint64_t>& position) const;
  bool next_row(std::span<std::uint64_t> position) const;
  std::uint64_t row_linear(std::span<const std::uint64_t> position) const;
  std::uint64_t row_ordinal(std::span<const std::uint64_t> position) const;

  std::vector<std::uint64_t> dims_;
  std::uint64_t count_ = 0;
  bool product_ = false;
  std::vector<Axis> axes_;               // only of regular selections
  std::vector<Run> by_linear_;           // only of irregular selections
  std::vector<std::size_t> by_ordinal_;  // by_linear_'s indices, sorted by ordinal
};

template <class Visit>
bool ElementSelection::for_each_in_range(std::uint64_t begin, std::uint64_t end, Visit visit) const {
  if (count_ == 0 || begin >= end) return true;
  if (!product_) {
    auto it = std::upper_bound(by_linear_.begin(), by_linear_.end(), begin,
                               [](std::uint64_t at, const Run& s) { return at < s.linear; });
    if (it != by_linear_.begin()) --it;
    for (; it != by_linear_.end() && it->linear < end; ++it) {
      const std::uint64_t from = std::max(begin, it->linear), to = std::min(end, it->linear + it->length);
      if (from < to && !visit(from, to - from, it->ordinal + (from - it->linear))) return false;
    }
    return true;
  }
  std::vector<std::uint64_t> position(axes_.size(), 0);
  if (!first_row(begin, position)) return true;
  const Axis& inner = axes_.back();
  const std::uint64_t width = dims_.back();
  do {
    const std::uint64_t row = row_linear(position);
    if (row >= end) return true;
    const std::uint64_t ordinal = row_ordinal(position);
    const std::uint64_t low = begin > row ? begin - row : 0, high = std::min(end - row, width);
    for (std::uint64_t p = inner.position_at_or_after(low); p < inner.positions();) {
      const std::uint64_t c = inner.coordinate(p);
      if (c >= high) break;
      const std::uint64_t n = std::min(inner.run_from(p), high - c);
      if (!visit(row + c, n, ordinal + p)) return false;
      p += n;
    }
  } while (next_row(std::span(position).first(position.size() - 1)));
  return true;
}

template <class Visit>
bool ElementSelection::for_each_ordinal(std::uint64_t begin, std::uint64_t end, Visit visit) const {
  end = std::min(end, count_);
  if (!product_) {
    auto it = std::upper_bound(by_ordinal_.begin(), by_ordinal_.end(), begin,
                               [&](std::uint64_t at, std::size_t i) { return at < by_linear_[i].ordinal; });
    if (it != by_ordinal_.begin()) --it;
    for (; it != by_ordinal_.end() && begin < end; ++it) {
      const Run& s = by_linear_[*it];
      const std::uint64_t skip = begin - s.ordinal;
      const std::uint64_t n = std::min(s.length - skip, end - begin);
      if (!visit(s.linear + skip, n)) return false;
      begin += n;
    }
    return true;
  }
  while (begin < end) {
    std::uint64_t left = begin, linear = 0, scale = 1, run = 1;
    for (std::size_t i = axes_.size(); i-- > 0;) {
      const Axis& axis = axes_[i];
      const std::uint64_t p = left % axis.positions();
      left /= axis.positions();
      linear += axis.coordinate(p) * scale;
      scale *= dims_[i];
      if (i + 1 == axes_.size()) run = axis.run_from(p);
    }
    const std::uint64_t n = std::min(run, end - begin);
    if (!visit(linear, n)) return false;
    begin += n;
  }
  return true;
}

// For unlimited hyperslabs of virtual mappings: the unlimited dimension, the number of positions within an
// extent of `size`, and the extent that the first `slices` positions need.
std::optional<std::size_t> unlimited_dimension(const format::Selection& selection);
std::uint64_t slices_within(const format::Selection& selection, std::size_t dimension, std::uint64_t size);
std::uint64_t extent_of_slices(const format::Selection& selection, std::size_t dimension,
                               std::uint64_t slices);

}  // namespace h5mount::dataset

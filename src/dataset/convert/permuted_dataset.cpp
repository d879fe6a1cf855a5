#include "h5mount/dataset/permuted_dataset.h"

#include <algorithm>
#include <cstring>

#include "h5mount/base/limits.h"
#include "h5mount/base/row_major.h"
#include "h5mount/dataset/dataset_part.h"
#include "h5mount/dataset/readers_over.h"

namespace h5mount::dataset {

namespace {

constexpr std::uint64_t kBandBytes = 8U << 20, kGatherBytes = 1U << 20;
constexpr std::size_t kKeptBytes = 64U << 20;
constexpr std::uint64_t kStepsPerBox = 1000;  // a reader is made for each

cache::BlockCache& kept_bands() {
  static cache::BlockCache bands(kKeptBytes);
  return bands;
}

// A dimension of what is shown that has more than one position.
struct ShownAxis {
  std::size_t stored = 0;    // the dataset's dimension
  std::uint64_t extent = 0;  // positions
  std::uint64_t inner = 1;   // elements shown from one position to the next
};

// Elements that follow one another in what is shown, and are a box of it: all positions of the dimensions
// after `axis`, `count` of it from `at` on, and one of those before it.
struct ShownBox {
  std::size_t axis = 0;
  std::uint64_t at[limits::kMaxRank] = {};
  std::uint64_t count = 0, elements = 0;
};

// Two dimensions of a box whose elements are `stride` bytes apart in `from`, and `step` in `to`.
struct Plane {
  std::uint64_t stride[2], step[2], extent[2];
};

// In tiles, so that the lines of both sides stay in the processor's cache.
template <class Copy>
void copy_plane(const Plane& plane, const std::byte* from, std::byte* to, Copy copy) {
  constexpr std::uint64_t kTile = 16;
  for (std::uint64_t i0 = 0; i0 < plane.extent[0]; i0 += kTile)
    for (std::uint64_t j0 = 0; j0 < plane.extent[1]; j0 += kTile)
      for (std::uint64_t i = i0; i < std::min(i0 + kTile, plane.extent[0]); ++i) {
        const std::byte* source = from + i * plane.stride[0] + j0 * plane.stride[1];
        std::byte* target = to + i * plane.step[0] + j0 * plane.step[1];
        for (std::uint64_t j = j0; j < std::min(j0 + kTile, plane.extent[1]); ++j) {
          copy(target, source);
          source += plane.stride[1];
          target += plane.step[1];
        }
      }
}

template <std::size_t kSize>
void copy_plane_of(const Plane& plane, const std::byte* from, std::byte* to) {
  copy_plane(plane, from, to,
             [](std::byte* target, const std::byte* source) { std::memcpy(target, source, kSize); });
}

void copy_plane(const Plane& plane, std::size_t item, const std::byte* from, std::byte* to) {
  switch (item) {
    case 1:
      return copy_plane_of<1>(plane, from, to);
    case 2:
      return copy_plane_of<2>(plane, from, to);
    case 4:
      return copy_plane_of<4>(plane, from, to);
    case 8:
      return copy_plane_of<8>(plane, from, to);
    case 16:
      return copy_plane_of<16>(plane, from, to);
    default:
      copy_plane(plane, from, to,
                 [item](std::byte* target, const std::byte* source) { std::memcpy(target, source, item); });
  }
}

class PermutedReader final : public ReaderOver {
 public:
  // `axes`: at least two; `inner` is set here.
  PermutedReader(object::DatasetDescription shown, DatasetReaderPtr base, std::vector<ShownAxis> axes)
      : ReaderOver(std::move(shown), std::move(base)),
        item_(this->base()->description().element_size),
        axes_(std::move(axes)) {
    for (std::size_t i = axes_.size() - 1; i-- > 0;)
      axes_[i].inner = axes_[i + 1].inner * axes_[i + 1].extent;
    choose_bands();
  }
  ~PermutedReader() override { kept_bands().erase_owner(owner_); }
  PermutedReader(const PermutedReader&) = delete;
  PermutedReader& operator=(const PermutedReader&) = delete;

  Status read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const override {
    if (offset >= size() || length == 0) return {};
    length = std::min(length, size() - offset);
    const bool forward = access.pattern != nullptr && access.pattern->note(offset, length);
    if (!forward || item_ > kBandBytes) return DatasetReader::read(offset, length, access, out);
    for (const std::uint64_t end = offset + length; offset < end;) {
      const Band band = band_of(offset / item_);
      const std::uint64_t begin = band.first * item_, bytes = band.elements * item_;
      H5_ASSIGN(
          const cache::BlockPtr block,
          kept_bands().get_or_load(
              {owner_, 0, band.first}, static_cast<std::size_t>(bytes),
              [&](cache::Block& made) { return fill(begin, made.bytes(), access.budget); }, access.budget));
      const std::uint64_t until = std::min(end, begin + bytes);
      out.add(block->bytes().subspan(static_cast<std::size_t>(offset - begin),
                                     static_cast<std::size_t>(until - offset)),
              block);
      offset = until;
    }
    return {};
  }

  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const override {
    H5_TRY(check_inside(offset, out.size()));
    return fill(offset, out, budget);
  }

 private:
  struct Band {
    std::uint64_t first, elements;
  };

  // Bands are as long as they may be, and where that is enough for whole chunks, they have only these.
  void choose_bands() {
    const std::uint64_t most = std::max<std::uint64_t>(1, kBandBytes / item_);
    while (band_axis_ + 1 < axes_.size() && axes_[band_axis_].inner > most) ++band_axis_;
    const ShownAxis& axis = axes_[band_axis_];
    band_count_ = std::min(axis.extent, most / axis.inner);
    const auto& layout = base()->description().layout;
    if (layout.cls != format::LayoutClass::Chunked || axis.stored >= layout.chunk_dims.size()) return;
    const std::uint64_t chunk = layout.chunk_dims[axis.stored];
    if (band_count_ >= chunk && band_count_ < axis.extent) band_count_ -= band_count_ % chunk;
  }

  Band band_of(std::uint64_t element) const {
    const ShownAxis& axis = axes_[band_axis_];
    const std::uint64_t position = element / axis.inner, at = position % axis.extent;
    const std::uint64_t begin = at - at % band_count_;
    return {(position - at + begin) * axis.inner, std::min(band_count_, axis.extent - begin) * axis.inner};
  }

  // Element by element where it begins or ends within one, else in boxes.
  Status fill(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const {
    while (!out.empty()) {
      const std::uint64_t element = offset / item_, within = offset % item_;
      std::uint64_t bytes = std::min<std::uint64_t>(item_ - within, out.size());
      if (bytes < item_) {
        const std::uint64_t stored = stored_number(element) * item_ + within;
        H5_TRY(base()->read_into(stored, out.first(static_cast<std::size_t>(bytes)), budget));
      } else {
        const std::uint64_t most = std::min<std::uint64_t>(out.size(), std::max(kBandBytes, item_)) / item_;
        const ShownBox box = box_at(element, most);
        bytes = box.elements * item_;
        H5_TRY(budget.spend(kStepsPerBox + bytes));
        H5_TRY(read_box(box, out.first(static_cast<std::size_t>(bytes)), budget));
      }
      offset += bytes;
      out = out.subspan(static_cast<std::size_t>(bytes));
    }
    return {};
  }

  // The largest box that begins with an element.
  ShownBox box_at(std::uint64_t element, std::uint64_t most) const {
    ShownBox box{.axis = axes_.size() - 1};
    for (std::size_t i = axes_.size(); i-- > 0; element /= axes_[i].extent)
      box.at[i] = element % axes_[i].extent;
    while (box.axis > 0 && box.at[box.axis] == 0 && axes_[box.axis - 1].inner <= most) --box.axis;
    const ShownAxis& axis = axes_[box.axis];
    box.count = std::min(axis.extent - box.at[box.axis], most / axis.inner);
    box.elements = box.count * axis.inner;
    return box;
  }

  std::uint64_t stored_number(std::uint64_t element) const {
    const auto& dims = base()->description().space.dims;
    const ShownBox box = box_at(element, 1);
    std::vector<std::uint64_t> place(dims.size(), 0);
    for (std::size_t i = 0; i < axes_.size(); ++i) place[axes_[i].stored] = box.at[i];
    return row_major_number(place, dims);
  }

  Status read_box(const ShownBox& box, MutableByteSpan out, RequestBudget& budget) const {
    DatasetPart part = whole_dataset(base()->description());
    for (std::size_t i = 0; i <= box.axis; ++i)
      part.axes[axes_[i].stored] = {box.at[i], 1, i < box.axis ? 1 : box.count, false};
    // The bytes between neighbours of each shown dimension, in the order in which the box is stored.
    std::uint64_t strides[limits::kMaxRank];
    std::uint64_t stride = item_;
    std::vector<std::size_t> wide;  // the box's dimensions of more than one position, as they are shown
    for (std::size_t stored = part.axes.size(); stored-- > 0; stride *= part.axes[stored].count)
      for (std::size_t i = box.axis; i < axes_.size(); ++i)
        if (axes_[i].stored == stored) strides[i] = stride;
    for (std::size_t i = box.axis; i < axes_.size(); ++i)
      if (i > box.axis || box.count > 1) wide.push_back(i);
    const DatasetReaderPtr stored = open_part(base(), part);
    const auto stored_axis = [&](std::size_t i) { return axes_[i].stored; };
    if (std::ranges::is_sorted(wide, {}, stored_axis)) return stored->read_into(0, out, budget);

    // What is gathered at once stays in the processor's cache; chunks are decoded by all workers.
    const bool chunked = base()->description().layout.cls == format::LayoutClass::Chunked;
    const std::size_t slowest = *std::ranges::min_element(wide, {}, stored_axis);
    const std::uint64_t most =
        std::max<std::uint64_t>(1, (chunked ? kBandBytes / 2 : kGatherBytes) / strides[slowest]);
    std::uint64_t extents[limits::kMaxRank];
    for (const std::size_t i : wide) extents[i] = i == box.axis ? box.count : axes_[i].extent;
    const std::uint64_t end = extents[slowest];
    std::vector<std::byte> gathered;
    for (std::uint64_t at = 0; at < end; at += extents[slowest]) {
      extents[slowest] = std::min(most, end - at);
      gathered.resize(static_cast<std::size_t>(extents[slowest] * strides[slowest]));
      H5_TRY(stored->read_into(at * strides[slowest], gathered, budget));
      const std::uint64_t to = at * axes_[slowest].inner * item_;
      turn(gathered, wide, strides, extents, out.subspan(static_cast<std::size_t>(to)));
    }
    return {};
  }

  // Copies the box whose elements are `strides` bytes apart to where they are shown. The two innermost
  // dimensions of both orders are copied as planes.
  void turn(ByteSpan gathered, std::vector<std::size_t> wide, const std::uint64_t* strides,
            const std::uint64_t* extents, MutableByteSpan out) const {
    const std::size_t last = wide.back();
    std::size_t first = *std::ranges::max_element(wide, {}, [&](std::size_t i) { return axes_[i].stored; });
    if (first == last) first = wide[wide.size() - 2];
    const Plane plane{{strides[first], strides[last]},
                      {axes_[first].inner * item_, item_},
                      {extents[first], extents[last]}};
    std::erase_if(wide, [&](std::size_t i) { return i == first || i == last; });
    std::uint64_t at[limits::kMaxRank] = {};
    const std::span place(at, wide.size());
    do {
      std::uint64_t from = 0, to = 0;
      for (std::size_t i = 0; i < wide.size(); ++i) {
        from += place[i] * strides[wide[i]];
        to += place[i] * axes_[wide[i]].inner * item_;
      }
      copy_plane(plane, static_cast<std::size_t>(item_), gathered.data() + from, out.data() + to);
    } while (next_row_major(place, [&](std::size_t i) { return extents[wide[i]]; }));
  }

  const std::uint64_t item_;  // bytes
  std::vector<ShownAxis> axes_;
  std::size_t band_axis_ = 0;     // a band is some positions of this dimension, and all of those after it
  std::uint64_t band_count_ = 1;  // positions in a band
  const std::uint64_t owner_ = cache::BlockCache::new_owner();
};

}  // namespace

object::DatasetDescription describe_permuted(const object::DatasetDescription& dataset,
                                             std::span<const std::size_t> axes) {
  object::DatasetDescription out = describe_part(dataset, whole_dataset(dataset));
  const auto& dims = dataset.space.dims;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    out.space.dims[i] = dims[axes[i]];
    out.space.max_dims[i] = dims[axes[i]];
  }
  return out;
}

DatasetReaderPtr open_permuted(DatasetReaderPtr dataset, std::span<const std::size_t> axes,
                               object::DatasetDescription shown) {
  std::vector<ShownAxis> wide;
  for (const std::size_t stored : axes)
    if (const std::uint64_t extent = dataset->description().space.dims[stored]; extent != 1)
      wide.push_back({stored, extent});
  if (dataset->size() == 0 || std::ranges::is_sorted(wide, {}, &ShownAxis::stored))
    return std::make_shared<const SameImageReader>(std::move(shown), std::move(dataset));
  return std::make_shared<const PermutedReader>(std::move(shown), std::move(dataset), std::move(wide));
}

}  // namespace h5mount::dataset

#include "zarr_dimensions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "../core/states.h"
#include "../objects/object_facts.h"
#include "../objects/object_walk.h"
#include "h5mount/base/limits.h"
#include "h5mount/object/resolve_path.h"
#include "h5mount/view/netcdf.h"

namespace h5mount::tree {

namespace {

constexpr std::size_t kMaxAxes = 1U << 20;  // of all datasets and scales, some 100 bytes each

bool has_committed_type(const object::Object& dataset) {
  const metadata::HeaderMessage* type = dataset.header->find(format::MessageType::Datatype);
  return type != nullptr && type->is_shared();
}

}  // namespace

bool is_unlimited(const format::Dataspace& space, std::size_t axis) {
  return axis < space.max_dims.size() && space.max_dims[axis] == format::kUnlimited;
}

class DimensionWalk final : public ObjectVisitor {
 public:
  DimensionWalk(const ServedFilePtr& file, RequestBudget& budget) : file_(file), budget_(budget) {
    out_->charge_ = file->context().environment.cache->no_charge();
  }

  Result<std::shared_ptr<const FileDimensions>> run() {
    H5_TRY(walk_objects(file_, *this, budget_));
    measure_scales();
    std::ranges::stable_sort(arrays_, {}, &Array::group);
    number_all(true);
    number_all(false);
    return finish();
  }

  Status visit_object(const WalkedPlace& place, const OpenedObject& object) override {
    if (++objects_ > limits::kMaxWalkedObjects) return fail(too_many());
    const std::uint64_t address = object.object.address;
    if (object.object.kind == object::ObjectKind::Dataset) return read_dataset(object, place);
    if (object.object.kind != object::ObjectKind::Group) return {};
    const auto above = numbers_.find(place.group);
    if (above != numbers_.end()) groups_[above->second].push_back(groups_.size());
    numbers_.emplace(address, groups_.size());
    groups_.emplace_back();
    return {};
  }
  // A soft link to a dataset of this file counts as the dataset. Links to groups whose path is elsewhere do
  // not.
  Status visit_link(const WalkedPlace& place, const format::Link& link, const SymlinkPath&) override {
    if (++objects_ > limits::kMaxWalkedObjects) return fail(too_many());
    if (!link.is(format::LinkType::Soft)) return {};
    const auto address = object::resolve_path(file_->metadata(), place.group, link.target, work_);
    const auto object =
        address ? file_->object(*address, budget_) : Result<OpenedObjectPtr>(OpenedObjectPtr());
    if (!object || !*object || (*object)->object.kind != object::ObjectKind::Dataset) return {};
    return read_dataset(**object, place);
  }
  // An object that cannot be read is not shown here: the group's own listing reports it.
  Status visit_damage(const WalkedPlace&, const Error&) override { return budget_.check(); }

 private:
  using Dimension = FileDimensions::Dimension;
  struct Scale {
    std::uint64_t address, group, length;
    bool unlimited;
    std::optional<std::uint32_t> id;  // netCDF's number of the dimension
  };
  struct Axis {
    std::uint64_t length, scale;
    bool unlimited;
    bool by_id;  // `scale` is netCDF's number of the dimension, until all scales are known
  };
  struct Array {
    std::uint64_t address, group;
    std::size_t first, rank;  // of axes_
    bool by_netcdf;           // which numbers its dimensions
    bool by_id;               // its own attributes do not lead to the scales
  };
  struct Length {
    std::uint64_t value;
    bool unlimited;
  };

  Status read_dataset(const OpenedObject& dataset, const WalkedPlace& place) {
    const auto in = numbers_.find(place.group);
    if (in == numbers_.end()) return budget_.check();  // the file changed: its root is no group now
    const std::uint64_t group = in->second;
    // Sources of virtual datasets are not opened: a source that hangs would hold up all arrays.
    const auto description = known_description_of(*file_, dataset);
    if (!description) return budget_.check();
    const format::Dataspace& space = (*description)->space;
    const view::DimensionRole role = view::dimension_role(*dataset.snapshot, dataset.object);
    if (role.is_scale && space.rank() > 0) {
      scales_.push_back({dataset.object.address, group, space.dims[0], is_unlimited(space, 0),
                         view::dimension_id(*dataset.snapshot, dataset.object)});
    }
    if (scales_.size() + axes_.size() + space.rank() > kMaxAxes) return fail(too_many());
    H5_TRY(charge(space.rank()));
    if (space.rank() == 0 || role.without_values || (role.is_scale && space.rank() == 1)) return {};
    const auto scales = view::dimension_scales(file_->value_context(dataset.snapshot, budget_),
                                               dataset.object, space.rank(), role);
    auto ids = view::coordinate_ids(*dataset.snapshot, dataset.object);
    if (role.has_scales || ids.size() != space.rank()) ids.clear();
    const std::size_t first = axes_.size();
    for (std::size_t i = 0; i < space.rank(); ++i)
      axes_.push_back(
          {space.dims[i], ids.empty() ? scales[i] : ids[i], is_unlimited(space, i), !ids.empty()});
    const bool known = view::is_netcdf_type(*(*description)->type, has_committed_type(dataset.object));
    arrays_.push_back(
        {dataset.object.address, group, first, space.rank(), known && !role.has_scales, !ids.empty()});
    return {};
  }

  // Charges the memory that is held, and that of `rank` more axes before they are added. In large steps, as
  // each takes the cache's lock.
  Status charge(std::size_t rank) {
    constexpr std::size_t kStep = 1U << 20, kNodeBytes = 48;  // of a table, with its two links and its hash
    constexpr std::size_t kScaleBytes = sizeof(Scale) + 4 * (sizeof(Dimension) + kNodeBytes);
    constexpr std::size_t kAxisBytes = sizeof(Axis) + 2 * sizeof(Dimension) + kNodeBytes;
    constexpr std::size_t kArrayBytes = sizeof(Array) + sizeof(FileDimensions::Named);
    const std::size_t bytes = scales_.size() * kScaleBytes + (axes_.size() + rank) * kAxisBytes +
                              (arrays_.size() + 1) * kArrayBytes + groups_.size() * 3 * kNodeBytes;
    if (bytes <= out_->charge_.bytes()) return {};
    return out_->charge_.resize((bytes / kStep + 1) * kStep);
  }

  // In the order in which netCDF-C reads: the datasets of a group before the groups below it.
  void measure_scales() {
    std::ranges::stable_sort(scales_, {}, &Scale::group);
    for (const Scale& scale : scales_) {
      if (scale.id) scale_of_id_.emplace(*scale.id, scale.address);
      next_ = scale.id ? std::max(next_, std::uint64_t{*scale.id} + 1) : next_ + 1;
    }
    std::unordered_map<std::uint64_t, std::uint64_t> used;  // the longest that refers to a scale
    for (Axis& axis : axes_) {
      if (std::exchange(axis.by_id, false)) {
        const auto scale = scale_of_id_.find(axis.scale);
        axis.scale = scale == scale_of_id_.end() ? 0 : scale->second;
      }
      std::uint64_t& length = used[axis.scale];
      length = std::max(length, axis.length);
    }
    for (const Scale& scale : scales_) {
      const std::uint64_t length =
          scale.unlimited ? std::max(scale.length, used[scale.address]) : scale.length;
      if (lengths_.emplace(scale.address, Length{length, scale.unlimited}).second)
        same_[{scale.group, length, scale.unlimited}].push_back({scale.address, 0});
    }
  }

  // Numbers either the dimensions that netCDF-C numbers or the others, in its order: each group after all
  // groups below it.
  void number_all(bool by_netcdf) {
    struct Entered {
      std::uint64_t group;
      std::size_t next;
    };
    std::vector<Entered> path{{0, 0}};
    while (!path.empty()) {
      Entered& top = path.back();
      if (top.next < groups_[top.group].size()) {
        path.push_back({groups_[top.group][top.next++], 0});
        continue;
      }
      const auto arrays = std::ranges::equal_range(arrays_, top.group, {}, &Array::group);
      bool others = false;
      for (const Array& array : arrays) {
        if (has_all_scales(array) && !array.by_id) continue;
        if (array.by_netcdf == by_netcdf)
          number_one(array);
        else
          others = true;
      }
      if (!others || !by_netcdf)  // nothing looks at the group again
        same_.erase(same_.lower_bound({top.group, 0, false}), same_.lower_bound({top.group + 1, 0, false}));
      path.pop_back();
    }
  }

  bool has_all_scales(const Array& array) {
    return std::ranges::all_of(axes_of(array), [&](const Axis& axis) { return has_scale(axis); });
  }
  // A variable that has fewer records than an unlimited dimension is as long as that all the same.
  bool has_scale(const Axis& axis) const {
    const auto found = lengths_.find(axis.scale);
    if (found == lengths_.end()) return false;
    const Length& length = found->second;
    return length.unlimited ? axis.length <= length.value : axis.length == length.value;
  }
  std::span<const Axis> axes_of(const Array& array) const {
    return std::span(axes_).subspan(array.first, array.rank);
  }

  void number_one(const Array& array) {
    const std::size_t first = out_->dimensions_.size();
    const auto taken = [&](const Dimension& one) {
      return std::ranges::any_of(std::span(out_->dimensions_).subspan(first), [&](const Dimension& other) {
        return one.scale == other.scale && one.number == other.number;
      });
    };
    for (const Axis& axis : axes_of(array)) {
      if (has_scale(axis)) {
        out_->dimensions_.push_back({axis.scale, 0});
        continue;
      }
      std::vector<Dimension>& same = same_[{array.group, axis.length, axis.unlimited}];
      const auto found = std::ranges::find_if_not(same, taken);
      out_->dimensions_.push_back(found == same.end() ? same.emplace_back(0, next_++) : *found);
    }
    out_->named_.push_back({array.address, first, array.rank});
  }

  Result<std::shared_ptr<const FileDimensions>> finish() {
    std::ranges::stable_sort(out_->named_, {}, &FileDimensions::Named::dataset);
    for (const Scale& scale : scales_)
      if (scale.unlimited) out_->lengths_.emplace(scale.address, lengths_.at(scale.address).value);
    constexpr std::size_t kLengthBytes = 64;
    H5_TRY(out_->charge_.resize(out_->dimensions_.capacity() * sizeof(Dimension) +
                                out_->named_.capacity() * sizeof(FileDimensions::Named) +
                                out_->lengths_.size() * kLengthBytes));
    return out_;
  }

  static Error too_many() {
    return {ErrorCode::LimitExceeded, "more objects or dimensions than can be numbered"};
  }

  ServedFilePtr file_;
  RequestBudget& budget_;
  object::PathWork work_{.budget = budget_};
  std::shared_ptr<FileDimensions> out_ = std::make_shared<FileDimensions>();
  std::vector<std::vector<std::uint64_t>> groups_;            // those below each, in the order of the walk
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;  // of the groups, by address
  std::vector<Scale> scales_;
  std::vector<Array> arrays_;
  std::vector<Axis> axes_;
  std::unordered_map<std::uint64_t, std::uint64_t> scale_of_id_;  // by netCDF's number of the dimension
  std::unordered_map<std::uint64_t, Length> lengths_;             // of the dimensions of scales
  std::map<std::tuple<std::uint64_t, std::uint64_t, bool>, std::vector<Dimension>> same_;
  std::uint64_t next_ = 0;
  std::size_t objects_ = 0;
};

Result<std::shared_ptr<const FileDimensions>> FileDimensions::of(const ServedFilePtr& file,
                                                                 RequestBudget& budget) {
  return file->kept<SnapshotValue<std::shared_ptr<const FileDimensions>>>().get_once(
      file->metadata()->number(), [&] { return DimensionWalk(file, budget).run(); }, budget);
}

std::vector<FileDimensions::Dimension> FileDimensions::dimensions_of(std::uint64_t dataset) const {
  const auto found = std::ranges::lower_bound(named_, dataset, {}, &Named::dataset);
  if (found == named_.end() || found->dataset != dataset) return {};
  const auto first = dimensions_.begin() + static_cast<std::ptrdiff_t>(found->first);
  return {first, first + static_cast<std::ptrdiff_t>(found->rank)};
}

std::uint64_t FileDimensions::length_of(std::uint64_t scale) const {
  const auto found = lengths_.find(scale);
  return found == lengths_.end() ? 0 : found->second;
}

}  // namespace h5mount::tree

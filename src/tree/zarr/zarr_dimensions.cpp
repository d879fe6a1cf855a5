#include "zarr_dimensions.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <tuple>
#include <utility>

#include "../objects/group_contents.h"
#include "h5mount/object/resolve_path.h"

namespace h5mount::tree {

namespace {

constexpr std::size_t kMaxAxes = 1U << 20;  // of all datasets and scales, some 100 bytes each
constexpr std::uint64_t kNoGroup = ~std::uint64_t{0};

bool has_committed_type(const object::Object& dataset) {
  const metadata::HeaderMessage* type = dataset.header->find(format::MessageType::Datatype);
  return type != nullptr && type->is_shared();
}

}  // namespace

bool is_unlimited(const format::Dataspace& space, std::size_t axis) {
  return axis < space.max_dims.size() && space.max_dims[axis] == format::kUnlimited;
}

class DimensionWalk {
 public:
  DimensionWalk(const ServedFilePtr& file, RequestBudget& budget) : file_(file), budget_(budget) {
    out_->charge_ = file->context().environment.cache->no_charge();
  }

  Result<std::shared_ptr<const FileDimensions>> run() {
    std::vector<Pending> left;
    left.push_back({file_->root_address(), 0, kNoGroup});
    while (!left.empty()) {
      const Pending group = std::move(left.back());
      left.pop_back();
      const std::uint64_t number = groups_.size();
      groups_.emplace_back();
      if (group.parent != kNoGroup) groups_[group.parent].push_back(number);
      std::vector<Pending> below;
      H5_TRY(read_group(GroupContents(file_, group.address, group.depth), number, below));
      std::ranges::move(below | std::views::reverse, std::back_inserter(left));
    }
    measure_scales();
    std::ranges::stable_sort(arrays_, {}, &Array::group);
    number_all(true);
    number_all(false);
    return finish();
  }

 private:
  using Dimension = FileDimensions::Dimension;
  struct Pending {
    std::uint64_t address;
    unsigned depth;
    std::uint64_t parent;
  };
  struct Scale {
    std::uint64_t address, group, length;
    bool unlimited;
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

  Status read_group(const GroupContents& contents, std::uint64_t number, std::vector<Pending>& below) {
    H5_TRY(budget_.check());
    const auto links = contents.list(budget_);
    if (!links) return budget_.check();  // the group's own listing reports it
    for (std::size_t i = 0; i < (*links)->size(); ++i) {
      H5_TRY(budget_.spend(kStepsPerLink));
      if (++objects_ > limits::kMaxWalkedObjects) return fail(too_many());
      const auto link = contents.find_listed(**links, i, budget_);
      if (!link) continue;
      const OpenedObjectPtr object = object_of(contents, *link);
      if (!object) continue;
      if (object->object.kind == object::ObjectKind::Dataset)
        H5_TRY(read_dataset(*object, number));
      else if (object->object.kind == object::ObjectKind::Group)
        below.push_back({link->address, contents.depth() + 1, number});
    }
    return {};
  }

  // Returns null if the object is not shown here: links to groups whose path is elsewhere, and objects that
  // cannot be read.
  OpenedObjectPtr object_of(const GroupContents& contents, const format::Link& link) {
    LinkTarget target = contents.resolve(link, budget_);
    if (const auto* object = std::get_if<OpenedObjectPtr>(&target.what)) return *object;
    if (!link.is(format::LinkType::Soft)) return nullptr;
    const auto address = object::resolve_path(file_->metadata(), contents.address(), link.target, work_);
    auto object = address ? file_->object(*address, budget_) : Result<OpenedObjectPtr>(OpenedObjectPtr());
    if (!object || !*object || (*object)->object.kind != object::ObjectKind::Dataset) return nullptr;
    return *std::move(object);
  }

  Status read_dataset(const OpenedObject& dataset, std::uint64_t group) {
    // Sources of virtual datasets are not opened: a source that hangs would hold up all arrays.
    const auto description = known_description_of(*file_, dataset);
    if (!description) return budget_.check();
    const format::Dataspace& space = (*description)->space;
    const view::DimensionRole role = view::dimension_role(*dataset.snapshot, dataset.object);
    if (role.is_scale && space.rank() > 0) {
      scales_.push_back({dataset.object.address, group, space.dims[0], is_unlimited(space, 0)});
      const auto id = view::dimension_id(*dataset.snapshot, dataset.object);
      if (id) scale_of_id_.emplace(*id, dataset.object.address);
      next_ = id ? std::max(next_, std::uint64_t{*id} + 1) : next_ + 1;
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
                              (arrays_.size() + 1) * kArrayBytes + groups_.size() * 2 * kNodeBytes;
    if (bytes <= out_->charge_.bytes()) return {};
    return out_->charge_.resize((bytes / kStep + 1) * kStep);
  }

  void measure_scales() {
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
  std::vector<std::vector<std::uint64_t>> groups_;  // those below each, in the order of the walk
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
  return DimensionWalk(file, budget).run();
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

Result<std::shared_ptr<const FileDimensions>> FileDimensionsCache::get(const ServedFilePtr& file,
                                                                       RequestBudget& budget) {
  const std::uint64_t snapshot = file->metadata()->number();
  std::shared_ptr<State> state;
  {
    const MutexLock lock(mutex_);
    if (!state_ || state_->snapshot != snapshot) state_ = std::make_shared<State>(snapshot);
    state = state_;
  }
  return state->dimensions.get_once([&] { return FileDimensions::of(file, budget); }, budget);
}

}  // namespace h5mount::tree

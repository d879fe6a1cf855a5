#include "zarr_variable.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "h5mount/base/lru_cache.h"
#include "h5mount/base/momentary.h"
#include "h5mount/dataset/padded_dataset.h"
#include "h5mount/object/resolve_path.h"

namespace h5mount::tree {

namespace {

std::string last_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// The names that a group has for objects of the file: of each the first one in the order of its links. Does
// not hold the listing, as that holds the file.
class GroupNames {
 public:
  static Result<std::shared_ptr<const GroupNames>> of(const GroupContents& group, RequestBudget& budget) {
    auto out = std::make_shared<GroupNames>();
    H5_ASSIGN(const std::shared_ptr<const GroupListing> links, group.list(budget));
    constexpr std::size_t kMostBytesOfName = 64;  // of most names
    H5_ASSIGN(out->charge_, group.file()->context().environment.cache->charge(
                                links->size() * (sizeof(Place) + kMostBytesOfName)));
    object::PathWork work{.budget = budget};
    for (std::size_t i = 0; i < links->size(); ++i) {
      H5_TRY(budget.spend(kStepsPerKnownLink));
      const format::Link link = links->link(i);
      if (const auto address = address_of(group, link, i, *links, work)) out->add(*address, link.name);
      H5_TRY(budget.check());
    }
    std::ranges::stable_sort(out->places_, {}, &Place::address);
    return out;
  }

  std::optional<std::string> name_of(std::uint64_t address) const {
    const auto found = std::ranges::lower_bound(places_, address, {}, &Place::address);
    if (found == places_.end() || found->address != address) return std::nullopt;
    return names_.substr(found->name, found->name_bytes);
  }
  std::size_t bytes() const { return places_.size() * sizeof(Place) + names_.size(); }

 private:
  struct Place {
    std::uint64_t address;
    std::size_t name, name_bytes;  // in names_
  };
  static constexpr std::uint64_t kStepsPerKnownLink = 32;

  void add(std::uint64_t address, std::string_view name) {
    places_.push_back({address, names_.size(), name.size()});
    names_ += name;
  }

  static std::optional<std::uint64_t> address_of(const GroupContents& group, const format::Link& link,
                                                 std::size_t position, const GroupListing& links,
                                                 object::PathWork& work) {
    if (link.is(format::LinkType::Hard)) return link.address;
    if (!link.is(format::LinkType::Soft) || !work.budget.spend(kStepsPerLink)) return std::nullopt;
    const auto whole = group.find_listed(links, position, work.budget);
    if (!whole) return std::nullopt;
    const auto address = object::resolve_path(group.file()->metadata(), group.address(), whole->target, work);
    return address ? std::optional(*address) : std::nullopt;
  }

  std::vector<Place> places_;
  std::string names_;
  cache::BlockCache::Charge charge_;
};

// The names of the groups that were asked for last, by address.
class GroupNamesCache {
 public:
  Result<std::shared_ptr<const GroupNames>> get(const GroupContents& group, RequestBudget& budget) {
    const std::uint64_t snapshot = group.file()->metadata()->number();
    if (const auto known = cache_.find(group.address()); known && known->snapshot == snapshot)
      return known->names;
    const MomentaryWatch watch;  // names would be missing as long as they are held
    H5_ASSIGN(std::shared_ptr<const GroupNames> made, watch.unless_met(GroupNames::of(group, budget)));
    cache_.insert(group.address(), std::make_shared<const Entry>(snapshot, made), made->bytes());
    return made;
  }

 private:
  static constexpr std::size_t kHeldBytes = 4U << 20;
  struct Entry {
    std::uint64_t snapshot;  // its number
    std::shared_ptr<const GroupNames> names;
  };
  LruCache<Entry> cache_{kHeldBytes, 1};
};

// netCDF-C looks for a dimension in the variable's own group, and then in those that contain it. Returns an
// empty name if the file has none.
Result<std::string> scale_name(ServedFile& file, const OpenedObject& dataset, std::uint64_t scale,
                               const ArrayPlace& place, RequestBudget& budget) {
  if (scale == dataset.object.address) return place.name;
  auto& names = file.kept<GroupNamesCache>();
  for (const StoreGroup* group = place.group.get(); group != nullptr; group = group->above.get()) {
    const auto found = names.get(group->contents, budget);
    H5_TRY(budget.check());
    if (!found) continue;  // the group's own listing reports it
    if (auto name = (*found)->name_of(scale)) return *std::move(name);
  }
  return last_name(file.value_context(dataset.snapshot, budget).path_of(scale).value_or(""));
}

// The dimensions of a whole file, looked for when it is first needed; null if the file has too
// many of them.
class WholeFile {
 public:
  WholeFile(ServedFile& file, RequestBudget& budget) : file_(file), budget_(budget) {}

  Result<const FileDimensions*> get() {
    if (std::exchange(sought_, true)) return found_.get();
    auto found = FileDimensions::of(file_.shared_from_this(), budget_);
    if (!found && found.error().code() == ErrorCode::LimitExceeded) return nullptr;
    H5_ASSIGN(found_, std::move(found));
    return found_.get();
  }

 private:
  ServedFile& file_;
  RequestBudget& budget_;
  bool sought_ = false;
  std::shared_ptr<const FileDimensions> found_;
};

struct ScaleLength {
  std::uint64_t value = 0;
  bool unlimited = false;
};

// The length of the dimension that a scale represents; nullopt if there is no such scale.
Result<std::optional<ScaleLength>> length_of(ServedFile& file, std::uint64_t scale, WholeFile& whole,
                                             RequestBudget& budget) {
  if (scale == 0) return std::nullopt;
  const auto object = file.object(scale, budget);
  H5_TRY(budget.check());
  if (!object || (*object)->object.kind != object::ObjectKind::Dataset) return std::nullopt;
  const auto described = description_of(file, **object, budget);
  H5_TRY(budget.check());
  if (!described || (*described)->space.rank() == 0) return std::nullopt;
  ScaleLength out{(*described)->space.dims[0], is_unlimited((*described)->space, 0)};
  if (!out.unlimited) return out;
  H5_ASSIGN(const FileDimensions* const dimensions, whole.get());
  if (dimensions != nullptr) out.value = std::max(out.value, dimensions->length_of(scale));
  return out;
}

// The scale of each dimension, by the dataset's own references or netCDF's numbers; 0 if there is none.
Result<std::vector<std::uint64_t>> scales_of(ServedFile& file, const OpenedObject& dataset, std::size_t rank,
                                             view::DimensionRole role, WholeFile& whole,
                                             RequestBudget& budget) {
  auto out = view::dimension_scales(file.value_context(dataset.snapshot, budget), dataset.object, rank, role);
  if (role.has_scales || (role.is_scale && rank == 1)) return out;
  if (view::coordinate_ids(*dataset.snapshot, dataset.object).size() != rank) return out;
  H5_ASSIGN(const FileDimensions* const dimensions, whole.get());
  if (dimensions == nullptr) return out;
  const auto found = dimensions->dimensions_of(dataset.object.address);
  for (std::size_t i = 0; i < std::min(out.size(), found.size()); ++i) out[i] = found[i].scale;
  return out;
}

}  // namespace

// Not by recursion: groups may lie deep in each other.
StoreGroup::~StoreGroup() {
  for (auto next = std::move(above); next && next.use_count() == 1;) next = std::move(next->above);
}

Result<Variable> variable_of(ServedFile& file, const OpenedObject& dataset, DatasetDescriptionPtr stated,
                             RequestBudget& budget) {
  const std::vector<std::uint64_t>& dims = stated->space.dims;
  Variable out{.description = stated,
               .role = view::dimension_role(*dataset.snapshot, dataset.object),
               .scales = std::vector<std::uint64_t>(dims.size())};
  if (dims.empty()) return out;
  WholeFile whole(file, budget);
  H5_ASSIGN(const std::vector<std::uint64_t> scales,
            scales_of(file, dataset, dims.size(), out.role, whole, budget));
  std::vector<std::uint64_t> extended = dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    H5_ASSIGN(const std::optional<ScaleLength> length, length_of(file, scales[i], whole, budget));
    if (!length) continue;
    if (length->unlimited) extended[i] = std::max(dims[i], length->value);
    if (extended[i] == length->value) out.scales[i] = scales[i];
  }
  H5_TRY(budget.check());
  if (extended == dims) return out;
  auto padded = dataset::PaddedDataset::describe(*stated, extended);
  if (padded) {
    out.description = std::make_shared<const object::DatasetDescription>(*std::move(padded));
    return out;
  }
  // Only a file that was made for it has dimensions so long: its variables keep their own lengths.
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (extended[i] != dims[i]) out.scales[i] = 0;
  return out;
}

Result<Variable> variable_of(ServedFile& file, const OpenedObject& dataset, RequestBudget& budget) {
  H5_ASSIGN(DatasetDescriptionPtr stated, description_of(file, dataset, budget));
  return variable_of(file, dataset, std::move(stated), budget);
}

Result<std::vector<std::string>> dimension_names(ServedFile& file, const OpenedObject& dataset,
                                                 const Variable& variable, const ArrayPlace& place,
                                                 RequestBudget& budget) {
  std::vector<std::string> out;
  std::vector<FileDimensions::Dimension> known;
  if (std::ranges::find(variable.scales, 0U) != variable.scales.end()) {
    H5_ASSIGN(const auto whole, FileDimensions::of(file.shared_from_this(), budget));
    known = whole->dimensions_of(dataset.object.address);
    // A dimension that is longer than any file can hold is not the variable's.
    const auto too_long = [&](std::size_t i) {
      return whole->length_of(known[i].scale) > variable.description->space.dims[i];
    };
    for (std::size_t i = 0; i < known.size(); ++i)
      if (i >= variable.scales.size() || too_long(i)) known.resize(i);
  }
  for (std::size_t i = 0; i < variable.scales.size(); ++i) {
    const bool numbered = i < known.size() && known[i].scale == 0;
    const std::uint64_t scale =
        variable.scales[i] == 0 && i < known.size() ? known[i].scale : variable.scales[i];
    std::string name;
    if (scale != 0) {
      H5_ASSIGN(name, scale_name(file, dataset, scale, place, budget));
    }
    // A dataset that the walk did not meet shares its dimensions with no other.
    if (name.empty())
      name = numbered ? fmt::format("phony_dim_{}", known[i].number)
                      : fmt::format("phony_dim_{:x}_{}", dataset.object.address, i);
    out.push_back(std::move(name));
  }
  H5_TRY(budget.check());
  return out;
}

}  // namespace h5mount::tree

#include "group_table.h"

#include "../objects/damaged_lists.h"
#include "../objects/group_contents.h"
#include "categories.h"
#include "h5mount/base/limits.h"
#include "h5mount/object/list_damage.h"
#include "h5mount/object/resolve_path.h"

namespace h5mount::tree {

namespace {

// The links in the order of a listing; empty if there are too many.
Result<std::shared_ptr<const GroupListing>> listed_links(ServedFile& file, const OpenedObject& group) {
  H5_ASSIGN(const std::shared_ptr<const object::Group> opened, opened_group(group));
  FoundLinks found;
  object::ListDamage damage;
  damage.note(opened->for_each(
      [&](const format::Link& link) {
        found.add(link);
        return found.links.size() <= limits::kMaxTableLinks;
      },
      [&](const Error& error) { damage.note(error); }));
  if (auto missing = damage.error(kMissingLinks)) return fail(*std::move(missing));
  if (found.links.size() > limits::kMaxTableLinks) found = {};
  return std::make_shared<const GroupListing>(file.shared_from_this(), std::move(found),
                                              opened->creation_order_indexed(), std::nullopt);
}

// The address of the object of this file that a link leads to; nullopt if it leads to none.
Result<std::optional<std::uint64_t>> address_of(const OpenedObject& group, const format::Link& link,
                                                object::PathWork& work) {
  if (link.is(format::LinkType::Hard)) return link.address;
  if (!link.is(format::LinkType::Soft)) return std::nullopt;
  const auto address = object::resolve_path(group.snapshot, group.object.address, link.target, work);
  if (address) return *address;
  const ErrorCode why = address.error().code();
  if (why == ErrorCode::NotFound || why == ErrorCode::LimitExceeded || why == ErrorCode::UnsupportedFeature)
    return std::nullopt;
  return fail(address.error());
}

bool can_grow(const format::Dataspace& space) {
  return !space.max_dims.empty() && space.max_dims[0] > space.dims[0];
}

// The lengths of the columns so far.
class Lengths {
 public:
  explicit Lengths(bool may_differ) : may_differ_(may_differ) {}
  bool add(const format::Dataspace& space) {
    if (!std::exchange(any_, true)) first_ = space.dims[0];
    same_ = same_ && space.dims[0] == first_;
    growing_ = growing_ && can_grow(space);
    return same_ || (may_differ_ && growing_);
  }

 private:
  bool may_differ_, any_ = false, same_ = true, growing_ = true;
  std::uint64_t first_ = 0;
};

struct Found {
  std::vector<GroupColumn> columns;
  std::vector<dataset::JoinedMember> members;  // the same, described
};

// An object as a column.
struct FoundColumn {
  GroupColumn column;
  DatasetDescriptionPtr described;  // null if it is not a column
};

Result<FoundColumn> find_column(ServedFile& file, const OpenedObject& object, std::string name,
                                RequestBudget& budget, bool measured) {
  H5_ASSIGN(const std::optional<CategoricalPlace> categorical, find_categorical(file, object, budget));
  FoundColumn out{{std::move(name), object.object.address}, nullptr};
  if (!categorical && object.object.kind != object::ObjectKind::Dataset) return out;
  const auto describe = [&](const OpenedObject& dataset) {
    return measured ? description_of(file, dataset, budget) : known_description_of(file, dataset);
  };
  if (!categorical) {
    H5_ASSIGN(out.described, describe(object));
    return out;
  }
  out.column.address = categorical->codes;
  out.column.names = categorical->names;
  H5_ASSIGN(const OpenedObjectPtr codes, file.object(categorical->codes, budget));
  H5_ASSIGN(out.described, describe(*codes));
  return out;
}

Result<Found> find_columns(ServedFile& file, const OpenedObject& group, RequestBudget& budget,
                           bool measured) {
  Found found;
  if (group.object.address == file.root_address()) return found;
  H5_ASSIGN(FoundColumn alone, find_column(file, group, "value", budget, measured));
  if (alone.column.names) {
    found.members.push_back({alone.column.name, std::move(alone.described)});
    found.columns.push_back(std::move(alone.column));
    return found;
  }
  if (group.object.kind != object::ObjectKind::Group) return found;
  H5_ASSIGN(const std::shared_ptr<const GroupListing> links, listed_links(file, group));
  budget.share_pauses(links->pauses());
  Lengths lengths(file.followed().following());
  H5_ASSIGN(const std::shared_ptr<const object::Group> opened, opened_group(group));
  object::PathWork work{.budget = budget, .names_left = limits::kMaxTableLinks + 1};
  for (std::size_t i = 0; i < links->size(); ++i) {
    H5_TRY(budget.spend(kStepsPerLink));
    format::Link link = links->link(i);
    if (link.is(format::LinkType::Soft)) {
      H5_ASSIGN(link, opened->find(link.name));
    }
    H5_ASSIGN(const std::optional<std::uint64_t> address, address_of(group, link, work));
    if (work.names_left == 0) return Found{};
    if (!address) continue;
    H5_ASSIGN(const OpenedObjectPtr object, file.object(*address, budget));
    auto described = find_column(file, *object, std::move(link.name), budget, measured);
    if (!described && described.error().code() == ErrorCode::TooLarge) continue;  // no view shows it
    H5_ASSIGN(FoundColumn column, std::move(described));
    if (!column.described || column.described->space.rank() != 1) continue;
    if (!lengths.add(column.described->space)) return Found{};
    found.members.push_back({column.column.name, std::move(column.described)});
    found.columns.push_back(std::move(column.column));
  }
  if (found.columns.size() < 2) return Found{};
  return found;
}

template <class Columns, class Names>
std::vector<object::CategoriesPtr> unknown_names(const Columns& columns, Names names) {
  static const auto kUnknown = std::make_shared<const object::Categories>();
  std::vector<object::CategoriesPtr> out;
  for (const auto& column : columns) out.push_back(column.*names ? kUnknown : nullptr);
  return out;
}

}  // namespace

Result<std::vector<GroupColumn>> group_columns(ServedFile& file, const OpenedObject& object,
                                               RequestBudget& budget, bool measured) {
  H5_ASSIGN(Found found, find_columns(file, object, budget, measured));
  return std::move(found.columns);
}

Result<DatasetDescriptionPtr> describe_group_table(ServedFile& file, const OpenedObject& object,
                                                   RequestBudget& budget, bool measured) {
  H5_ASSIGN(const Found found, find_columns(file, object, budget, measured));
  if (found.members.empty()) return nullptr;
  H5_ASSIGN(auto joined, dataset::describe_joined(object.object.address, found.members));
  joined.categories = unknown_names(found.columns, &GroupColumn::names);
  return std::make_shared<const object::DatasetDescription>(std::move(joined));
}

Result<GroupTable::Columns> GroupTable::columns(RequestBudget& budget) {
  return columns_.get(
      [&]() -> Result<Columns> {
        H5_ASSIGN(const OpenedObjectPtr group, file()->object(address(), budget));
        H5_ASSIGN(std::vector<GroupColumn> found, group_columns(*file(), *group, budget, true));
        if (found.empty()) return fail({ErrorCode::NotFound, "the group is no table"});
        const auto followed = [&](const GroupColumn& column, std::uint64_t dataset) {
          return std::make_unique<FollowedDataset>(file(), dataset, LinkPlace{address(), column.name});
        };
        auto out = std::make_shared<std::vector<Column>>();
        for (const GroupColumn& column : found)
          out->push_back({column.name, followed(column, column.address),
                          column.names ? followed(column, *column.names) : nullptr});
        return out;
      },
      budget);
}

Result<object::CategoriesPtr> GroupTable::names_of(const DataState& names, const Table* known,
                                                   std::size_t column, RequestBudget& budget) {
  if (known != nullptr) {
    const DataState& before = *known->columns[column].names;
    const bool same =
        names.stale.since(before.number).empty() && names.reader->size() == before.reader->size();
    if (same || names.number <= before.number) return known->reader->description().categories[column];
  }
  if (auto problem = names.reader->problem()) return fail(*std::move(problem));
  return read_categories(*file(), *names.reader, budget);
}

Result<DatasetDescriptionPtr> GroupTable::newest_description(RequestBudget& budget, bool measured) {
  H5_ASSIGN(const Columns all, columns(budget));
  std::vector<dataset::JoinedMember> described;
  for (const Column& column : *all) {
    H5_ASSIGN(DatasetDescriptionPtr dataset, column.values->newest_description(budget, measured));
    if (column.values->is_virtual()) set_virtual();
    described.push_back({column.name, std::move(dataset)});
  }
  H5_ASSIGN(auto joined, dataset::describe_joined(address(), described));
  joined.categories = unknown_names(*all, &Column::names);
  const States::ValuePtr known = states_.newest_value();
  for (std::size_t i = 0; measured && i < all->size(); ++i) {
    if (!(*all)[i].names) continue;
    H5_ASSIGN(const DataStatePtr names, (*all)[i].names->newest(budget));
    H5_ASSIGN(joined.categories[i], names_of(*names, known.get(), i, budget));
  }
  return std::make_shared<const object::DatasetDescription>(std::move(joined));
}

Result<std::vector<NodeSource>> GroupTable::sources(RequestBudget& budget) {
  H5_ASSIGN(const Columns all, columns(budget));
  std::vector<NodeSource> out;
  for (const Column& column : *all) {
    for (FollowedDataset* const dataset : {column.values.get(), column.names.get()}) {
      if (dataset == nullptr) continue;
      H5_ASSIGN(std::vector<NodeSource> more, dataset->sources(budget));
      out.insert(out.end(), more.begin(), more.end());
    }
  }
  return out;
}

Result<DataStatePtr> GroupTable::newest(RequestBudget& budget) {
  H5_ASSIGN(const Columns all, columns(budget));
  std::vector<ColumnState> now(all->size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    const Column& column = (*all)[i];
    H5_ASSIGN(now[i].values, column.values->newest(budget));
    if (column.names) {
      H5_ASSIGN(now[i].names, column.names->newest(budget));
    }
    if (column.values->is_virtual()) set_virtual();
  }
  const auto state = states_.advance(std::move(now), [](const States::State& newest, auto& of) {
    std::uint64_t known = 0, number = 0;
    for (std::size_t i = 0; i < of.size(); ++i) {
      // Another request may have found later states of some columns.
      const ColumnState& before = newest.of[i];
      if (before.values->number > of[i].values->number) of[i].values = before.values;
      if (before.names && before.names->number > of[i].names->number) of[i].names = before.names;
      known += before.number();
      number += of[i].number();
    }
    return number > known;
  });
  H5_ASSIGN(DataStatePtr made, state->value.get([&] { return make(*all, *state, budget); }, budget));
  return made;
}

Result<GroupTable::States::ValuePtr> GroupTable::make(const std::vector<Column>& columns,
                                                      const States::State& state, RequestBudget& budget) {
  const Table* const before = state.before.get();
  auto made = std::make_shared<Table>();
  made->columns = state.of;
  std::vector<dataset::JoinedMember> described;
  std::vector<DatasetReaderPtr> readers;
  std::vector<object::CategoriesPtr> names(columns.size());
  std::vector<std::vector<dataset::ByteRange>> stale;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ColumnState& now = state.of[i];
    described.push_back({columns[i].name, {now.values->reader, &now.values->reader->description()}});
    readers.push_back(now.values->reader);
    if (now.names) {
      H5_ASSIGN(names[i], names_of(*now.names, before, i, budget));
    }
    if (before != nullptr) stale.push_back(now.values->stale.since(before->columns[i].values->number));
    made->number += now.number();
  }
  H5_ASSIGN(auto joined, dataset::describe_joined(address(), described));
  joined.categories = std::move(names);
  if (before == nullptr && state.number > 1) made->stale.add(made->number, {{dataset::kWholeImage}});
  if (before != nullptr) {
    const object::DatasetDescription& earlier = before->reader->description();
    made->stale = before->stale;
    // If the names change, all rows do.
    made->stale.add(made->number, earlier.categories == joined.categories
                                      ? dataset::stale_in_joined(joined, earlier, stale)
                                      : std::vector{dataset::kWholeImage});
  }
  made->reader = dataset::open_joined(std::move(joined), std::move(readers));
  return made;
}

std::uint64_t GroupTable::newest_number() const {
  std::uint64_t number = 0;
  if (const auto known = columns_.peek())
    for (const Column& column : **known)
      number += column.values->newest_number() + (column.names ? column.names->newest_number() : 0);
  return number;
}

void GroupTable::note_missing() {
  if (const auto known = columns_.peek())
    for (const Column& column : **known) column.values->note_missing_sources();
}

}  // namespace h5mount::tree

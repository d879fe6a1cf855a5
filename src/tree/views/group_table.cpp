#include "group_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "../objects/damaged_lists.h"
#include "../objects/group_contents.h"
#include "categories.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/log_notes.h"
#include "h5mount/dataset/joined_datasets.h"
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

// The part of a link of the group in its table.
struct Member {
  GroupColumn column;
  DatasetDescriptionPtr described;  // of the values; null if it is no column
  DatasetDescriptionPtr mask;
  TableNotes::LeftOut left_out = {};  // if it is no column; without a name if that goes without saying
};

struct Found {
  std::vector<GroupColumn> columns;
  std::vector<dataset::JoinedMember> members;     // the columns' values, and behind all of them the masks
  std::vector<std::optional<std::size_t>> masks;  // of each column, among the members
  TableNotes notes;
  std::vector<OpenedObjectPtr> opened;  // of the group's members, as far as there is room for them

  void add(Member member) {
    members.push_back({member.column.name, std::move(member.described)});
    columns.push_back(std::move(member.column));
    masks.emplace_back();
    masks_.push_back(std::move(member.mask));
  }
  void add_masks() {
    for (std::size_t i = 0; i < masks_.size(); ++i) {
      if (!masks_[i]) continue;
      masks[i] = members.size();
      members.push_back({mask_name(columns[i].name), std::move(masks_[i])});
    }
  }
  static std::string mask_name(const std::string& column) { return column + "/mask"; }

 private:
  std::vector<DatasetDescriptionPtr> masks_;
};

// Finds out what the object is as a column.
Status find_column(ServedFile& file, const OpenedObject& object, Member& out, RequestBudget& budget,
                   bool measured) {
  const std::string& name = out.column.name;
  H5_ASSIGN(const std::optional<CategoricalPlace> categorical, find_categorical(file, object, budget));
  H5_ASSIGN(const auto nullable, categorical ? std::nullopt : find_nullable(file, object, budget));
  out.column.address = object.object.address;
  const auto describe = [&](std::uint64_t address) -> Result<DatasetDescriptionPtr> {
    H5_ASSIGN(const OpenedObjectPtr dataset, file.object(address, budget));
    return measured ? description_of(file, *dataset, budget) : known_description_of(file, *dataset);
  };
  if (categorical) {
    out.column.address = categorical->codes;
    out.column.names = categorical->names;
  } else if (nullable) {
    out.column.address = nullable->values;
    out.column.mask = nullable->mask;
    H5_ASSIGN(out.mask, describe(nullable->mask));
  } else if (object.object.kind == object::ObjectKind::Group) {
    if (const std::string encoding = encoding_of(object); !encoding.empty())
      out.left_out = {name, "a group with the encoding-type " + encoding, true};
    return {};
  } else if (object.object.kind != object::ObjectKind::Dataset) {
    return {};
  }
  H5_ASSIGN(out.described, describe(out.column.address));
  const std::size_t rank = out.described->space.rank();
  if (rank == 1) return {};
  const bool null = out.described->space.kind == format::DataspaceKind::Null;
  out.left_out = {name,
                  null        ? "no elements"
                  : rank == 0 ? "a scalar"
                              : fmt::format("{} dimensions", rank),
                  false};
  out.described = nullptr;
  return {};
}

// The same where the object cannot be read: the table is that of the others, and says so.
Result<Member> member_of(ServedFile& file, const Result<OpenedObjectPtr>& object, std::string name,
                         RequestBudget& budget, bool measured) {
  Member out{.column = {.name = std::move(name)}, .described = nullptr, .mask = nullptr};
  const Status found =
      object ? find_column(file, **object, out, budget, measured) : Status(fail(object.error()));
  if (found) return out;
  const ErrorCode why = found.error().code();
  if (!is_about_bytes(why) && why != ErrorCode::TooLarge && why != ErrorCode::UnsupportedFeature)
    return fail(found.error());
  out.described = nullptr;
  out.left_out = {out.column.name, "not readable: " + found.error().text(), true};
  return out;
}

// The rows of the table that more than half of the columns have, at least two. Columns of a file that is
// followed may be in the middle of being appended to: those that can grow count as equally long.
struct Majority {
  std::uint64_t rows = 0;
  bool of_growing = false;

  bool has(const format::Dataspace& space) const {
    return of_growing ? can_grow(space) : space.dims[0] == rows;
  }
};
std::optional<Majority> majority_of(const std::vector<Member>& members, bool may_differ) {
  std::map<std::uint64_t, std::size_t> by_rows;
  std::size_t all = 0, growing = 0;
  for (const Member& member : members) {
    if (!member.described) continue;
    ++all;
    ++by_rows[member.described->space.dims[0]];
    if (may_differ && can_grow(member.described->space)) ++growing;
  }
  const auto is_table = [&](std::size_t count) { return count >= 2 && 2 * count > all; };
  const auto most = std::ranges::max_element(by_rows, {}, [](const auto& entry) { return entry.second; });
  if (is_table(growing) && growing >= most->second) return Majority{.of_growing = true};
  if (most == by_rows.end() || !is_table(most->second)) return std::nullopt;
  return Majority{.rows = most->first};
}

// Keeps what it opens, for those who go on to the members: the cache does not have room for all.
Result<std::vector<Member>> members_of(ServedFile& file, const OpenedObject& group, RequestBudget& budget,
                                       bool measured, std::vector<OpenedObjectPtr>& kept) {
  constexpr std::size_t kMostKept = 4U << 20;
  std::size_t kept_bytes = 0;
  std::vector<Member> out;
  H5_ASSIGN(const std::shared_ptr<const GroupListing> links, listed_links(file, group));
  budget.share_pauses(links->pauses());
  H5_ASSIGN(const std::shared_ptr<const object::Group> opened, opened_group(group));
  object::PathWork work{.budget = budget, .names_left = limits::kMaxTableLinks + 1};
  for (std::size_t i = 0; i < links->size(); ++i) {
    H5_TRY(budget.spend(kStepsPerLink));
    format::Link link = links->link(i);
    if (link.is(format::LinkType::Soft)) {
      H5_ASSIGN(link, opened->find(link.name));
    }
    H5_ASSIGN(const std::optional<std::uint64_t> address, address_of(group, link, work));
    if (work.names_left == 0) return std::vector<Member>{};
    if (!address) continue;
    const auto object = file.object(*address, budget);
    H5_ASSIGN(Member member, member_of(file, object, std::move(link.name), budget, measured));
    out.push_back(std::move(member));
    if (!object) continue;
    kept_bytes += memory_bytes(**object);
    if (kept_bytes <= kMostKept) kept.push_back(*object);
  }
  return out;
}

Result<Found> find_columns(ServedFile& file, const OpenedObject& group, RequestBudget& budget,
                           bool measured) {
  Found found;
  if (group.object.address == file.root_address()) return found;
  Member alone{.column = {.name = "value"}, .described = nullptr, .mask = nullptr};
  H5_TRY(find_column(file, group, alone, budget, measured));
  if (alone.column.names || alone.column.mask) {
    found.add(std::move(alone));
    found.add_masks();
    return found;
  }
  if (group.object.kind != object::ObjectKind::Group) return found;
  H5_ASSIGN(std::vector<Member> members, members_of(file, group, budget, measured, found.opened));
  const std::optional<Majority> table = majority_of(members, file.followed().following());
  const auto columns = std::ranges::count_if(members, [](const Member& m) { return m.described != nullptr; });
  if (!table) {
    if (columns >= 2) found.notes.no_table = "no length that more than half of its columns have";
    return found;
  }
  for (Member& member : members) {
    if (member.described && !table->has(member.described->space))
      member.left_out = {member.column.name, fmt::format("of length {}", member.described->space.dims[0]),
                         true};
    if (!member.left_out.name.empty())
      found.notes.left_out.push_back(std::move(member.left_out));
    else if (member.described)
      found.add(std::move(member));
  }
  found.add_masks();
  return found;
}

template <class Columns, class Names>
std::vector<object::CategoriesPtr> unknown_names(const Columns& columns, Names names) {
  static const auto kUnknown = std::make_shared<const object::Categories>();
  std::vector<object::CategoriesPtr> out;
  for (const auto& column : columns) out.push_back(column.*names ? kUnknown : nullptr);
  return out;
}

// In the mount's log, once for each table.
void tell(ServedFile& file, const OpenedObject& group, const TableNotes& notes) {
  const std::string text = notes.text(TableNotes::Which::Expected);
  if (text.empty() || !file.kept<ToldTables>().add(group.object.address)) return;
  note_in_log(fmt::format("{}: {}: as a table without {}", file.file()->path,
                          file.path_of_object(group.object.address), text));
}

// The columns as one dataset; null if there are none.
Result<DatasetDescriptionPtr> join(ServedFile& file, const OpenedObject& group, Found& found) {
  tell(file, group, found.notes);
  if (found.members.empty()) return nullptr;
  H5_ASSIGN(auto joined, dataset::describe_joined(group.object.address, found.members));
  joined.categories = unknown_names(found.columns, &GroupColumn::names);
  joined.masks = std::move(found.masks);
  return std::make_shared<const object::DatasetDescription>(std::move(joined));
}

}  // namespace

std::string TableNotes::text(Which which) const {
  constexpr std::size_t kMostBytes = 4096;
  std::string out;
  std::size_t more = 0;
  for (const LeftOut& one : left_out) {
    if (which == Which::Expected && !one.expected) continue;
    if (out.size() > kMostBytes)
      ++more;
    else
      out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", one.name, one.why);
  }
  if (more > 0) out += fmt::format(" and {} more", more);
  return out;
}

bool ToldTables::add(std::uint64_t address) {
  const MutexLock lock(mutex_);
  return told_.size() < kMost && told_.insert(address).second;
}

Result<DatasetDescriptionPtr> describe_group_table(ServedFile& file, const OpenedObject& object,
                                                   RequestBudget& budget) {
  H5_ASSIGN(Found found, find_columns(file, object, budget, false));
  return join(file, object, found);
}

GroupViews absent_views_of_group(ServedFile& file, const OpenedObject& group, RequestBudget& budget) {
  GroupViews out;
  auto found = find_columns(file, group, budget, false);
  const auto described =
      found ? join(file, group, *found) : Result<DatasetDescriptionPtr>(fail(found.error()));
  if (found) out.opened = std::move(found->opened);
  const TableNotes notes = found ? std::move(found->notes) : TableNotes();
  const std::string left_out = notes.text(TableNotes::Which::All);
  for (const view::View& view : view::views()) {
    if (!view.of_groups) continue;
    if (!described) {
      out.absent.push_back({view.directory, described.error().text()});
    } else if (!*described) {
      if (!notes.no_table.empty()) out.absent.push_back({view.directory, notes.no_table});
    } else if (auto why = view.unfit(**described, budget); why && *why) {
      out.absent.push_back({view.directory, **why});
    } else if (!left_out.empty()) {
      out.absent.push_back({view.directory, "without " + left_out});
    }
  }
  return out;
}

Result<GroupTable::ColumnsPtr> GroupTable::columns(RequestBudget& budget) {
  return columns_.get(
      [&]() -> Result<ColumnsPtr> {
        H5_ASSIGN(const OpenedObjectPtr group, file()->object(address(), budget));
        H5_ASSIGN(Found found, find_columns(*file(), *group, budget, true));
        tell(*file(), *group, found.notes);
        if (found.columns.empty()) return fail({ErrorCode::NotFound, "the group is no table"});
        const auto followed = [&](const GroupColumn& column, std::optional<std::uint64_t> dataset) {
          return dataset
                     ? std::make_unique<FollowedDataset>(file(), *dataset, LinkPlace{address(), column.name})
                     : nullptr;
        };
        auto out = std::make_shared<Columns>();
        for (const GroupColumn& column : found.columns)
          out->all.push_back({column.name, followed(column, column.address), followed(column, column.names),
                              followed(column, column.mask)});
        out->masks = std::move(found.masks);
        out->left_out = found.notes.text(TableNotes::Which::All);
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
  H5_ASSIGN(const ColumnsPtr columns, this->columns(budget));
  const std::vector<Column>& all = columns->all;
  std::vector<dataset::JoinedMember> described;
  for (const Column& column : all) {
    H5_ASSIGN(DatasetDescriptionPtr dataset, column.values->newest_description(budget, measured));
    if (column.values->is_virtual()) set_virtual();
    described.push_back({column.name, std::move(dataset)});
  }
  for (const Column& column : all) {
    if (!column.mask) continue;
    H5_ASSIGN(DatasetDescriptionPtr dataset, column.mask->newest_description(budget, measured));
    described.push_back({Found::mask_name(column.name), std::move(dataset)});
  }
  H5_ASSIGN(auto joined, dataset::describe_joined(address(), described));
  joined.categories = unknown_names(all, &Column::names);
  joined.masks = columns->masks;
  const States::ValuePtr known = states_.newest_value();
  for (std::size_t i = 0; measured && i < all.size(); ++i) {
    if (!all[i].names) continue;
    H5_ASSIGN(const DataStatePtr names, all[i].names->newest(budget));
    H5_ASSIGN(joined.categories[i], names_of(*names, known.get(), i, budget));
  }
  return std::make_shared<const object::DatasetDescription>(std::move(joined));
}

Result<std::vector<NodeSource>> GroupTable::sources(RequestBudget& budget) {
  H5_ASSIGN(const ColumnsPtr columns, this->columns(budget));
  std::vector<NodeSource> out;
  for (const Column& column : columns->all) {
    for (FollowedDataset* const dataset : {column.values.get(), column.names.get(), column.mask.get()}) {
      if (dataset == nullptr) continue;
      H5_ASSIGN(std::vector<NodeSource> more, dataset->sources(budget));
      out.insert(out.end(), more.begin(), more.end());
    }
  }
  return out;
}

Result<DataStatePtr> GroupTable::newest(RequestBudget& budget) {
  H5_ASSIGN(const ColumnsPtr columns, this->columns(budget));
  std::vector<ColumnState> now(columns->all.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    const Column& column = columns->all[i];
    H5_ASSIGN(now[i].values, column.values->newest(budget));
    if (column.names) {
      H5_ASSIGN(now[i].names, column.names->newest(budget));
    }
    if (column.mask) {
      H5_ASSIGN(now[i].mask, column.mask->newest(budget));
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
      if (before.mask && before.mask->number > of[i].mask->number) of[i].mask = before.mask;
      known += before.number();
      number += of[i].number();
    }
    return number > known;
  });
  H5_ASSIGN(DataStatePtr made, state->value.get([&] { return make(*columns, *state, budget); }, budget));
  return made;
}

Result<GroupTable::States::ValuePtr> GroupTable::make(const Columns& columns, const States::State& state,
                                                      RequestBudget& budget) {
  const Table* const before = state.before.get();
  auto made = std::make_shared<Table>();
  made->columns = state.of;
  std::vector<dataset::JoinedMember> described;
  std::vector<DatasetReaderPtr> readers;
  std::vector<object::CategoriesPtr> names(columns.all.size());
  std::vector<std::vector<dataset::ByteRange>> stale;
  const auto join = [&](std::string name, const DataState& now, const DataState* earlier) {
    described.push_back({std::move(name), {now.reader, &now.reader->description()}});
    readers.push_back(now.reader);
    if (earlier != nullptr) stale.push_back(now.stale.since(earlier->number));
  };
  for (std::size_t i = 0; i < columns.all.size(); ++i) {
    const ColumnState& now = state.of[i];
    join(columns.all[i].name, *now.values, before != nullptr ? before->columns[i].values.get() : nullptr);
    if (now.names) {
      H5_ASSIGN(names[i], names_of(*now.names, before, i, budget));
    }
    made->number += now.number();
  }
  for (std::size_t i = 0; i < columns.all.size(); ++i)
    if (const ColumnState& now = state.of[i]; now.mask)
      join(Found::mask_name(columns.all[i].name), *now.mask,
           before != nullptr ? before->columns[i].mask.get() : nullptr);
  H5_ASSIGN(auto joined, dataset::describe_joined(address(), described));
  joined.categories = std::move(names);
  joined.masks = columns.masks;
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
    for (const Column& column : (*known)->all)
      number += column.values->newest_number() + (column.names ? column.names->newest_number() : 0) +
                (column.mask ? column.mask->newest_number() : 0);
  return number;
}

void GroupTable::note_missing() {
  if (const auto known = columns_.peek())
    for (const Column& column : (*known)->all) column.values->note_missing_sources();
}

Result<std::string> GroupTable::left_out(RequestBudget& budget) {
  H5_ASSIGN(const ColumnsPtr columns, this->columns(budget));
  return columns->left_out;
}

}  // namespace h5mount::tree

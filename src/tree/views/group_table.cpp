#include "group_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "../objects/decoded.h"
#include "categories.h"
#include "h5mount/base/log_notes.h"
#include "shown_columns.h"
#include "table_columns.h"

namespace h5mount::tree {

namespace {

std::string name_of_mask(const std::string& column) {
  return column + "/mask";
}

object::CategoriesPtr unknown_names(const GroupColumn& column) {
  static const auto kUnknown = std::make_shared<const object::Categories>();
  return column.names ? kUnknown : nullptr;
}

// In the mount's log, once for each table.
void tell(ServedFile& file, const OpenedObject& group, const TableNotes& notes) {
  const std::string text = notes.text(TableNotes::Which::Expected);
  if (text.empty() || !file.kept<ToldTables>().add(group.object.address)) return;
  note_in_log(fmt::format("{}: {}: as a table without {}", file.file()->path,
                          file.path_of_object(group.object.address), text));
}

// The columns as one dataset, from what describes their datasets; null if there are none.
Result<DatasetDescriptionPtr> join(std::uint64_t address, const std::vector<GroupColumn>& columns,
                                   bool is_grid, const TableForm& form,
                                   const std::vector<DatasetDescriptionPtr>& datasets,
                                   const std::vector<DatasetDescriptionPtr>& masks,
                                   const std::vector<object::CategoriesPtr>& names) {
  if (columns.empty()) return nullptr;
  object::GridRowsPtr rows;
  if (is_grid) {
    H5_ASSIGN(rows, rows_of_grid(columns, datasets, form.in_boxes()));
  }
  std::vector<dataset::DatasetColumn> members;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    H5_ASSIGN(object::DatasetDescription shown, describe_column(columns[i], *datasets[i], rows.get()));
    members.push_back(
        {columns[i].name, std::make_shared<const object::DatasetDescription>(std::move(shown)), names[i]});
    if (masks[i]) members.push_back({name_of_mask(columns[i].name), masks[i], nullptr, true});
  }
  H5_ASSIGN(auto joined, dataset::describe_columns(address, members));
  if (form.in_boxes()) joined.boxes = std::move(rows);
  return std::make_shared<const object::DatasetDescription>(std::move(joined));
}

// The bytes of what stands for a column that may differ from `before`. `size`: that of the dataset then.
std::vector<dataset::ByteRange> stale_in_column(const GroupColumn& column, const dataset::DatasetReader& now,
                                                const dataset::DatasetReader& before, std::uint64_t size,
                                                std::vector<dataset::ByteRange> stale, bool is_grid) {
  if (!is_grid) return column.then ? column.then->stale_since(now, before, stale) : stale;
  const bool any = std::ranges::any_of(stale, [&](const auto& range) { return range.begin < size; });
  if (any && column.kind != GroupColumn::Kind::Places && column.kind != GroupColumn::Kind::Codes)
    return {dataset::kWholeImage};
  return {};
}

}  // namespace

Result<DatasetDescriptionPtr> describe_found(ServedFile& file, const OpenedObject& group,
                                             const TableForm& form, const FoundColumns& found) {
  tell(file, group, found.notes);
  std::vector<DatasetDescriptionPtr> datasets, masks;
  std::vector<object::CategoriesPtr> names;
  for (const GroupColumn& column : found.columns) {
    datasets.push_back(column.described);
    masks.push_back(column.mask_described);
    names.push_back(unknown_names(column));
  }
  return join(group.object.address, found.columns, found.is_grid, form, datasets, masks, names);
}

Result<DatasetDescriptionPtr> describe_group_table(ServedFile& file, const OpenedObject& object,
                                                   const TableForm& form, RequestBudget& budget) {
  H5_ASSIGN(const FoundColumns found, find_columns(file, object, form, budget, false));
  return describe_found(file, object, form, found);
}

GroupViews absent_views_of_group(ServedFile& file, const OpenedObject& group, RequestBudget& budget) {
  GroupViews out;
  const TableForm plain;
  auto found = find_columns(file, group, plain, budget, false);
  const auto described =
      found ? describe_found(file, group, plain, *found) : Result<DatasetDescriptionPtr>(fail(found.error()));
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
  const auto decoding = decoding_of_object(file, group, budget);
  if (decoding && *decoding && !(*decoding)->undecoded.empty())
    out.absent.push_back({"decoded", (*decoding)->undecoded});
  return out;
}

Result<GroupTable::ColumnsPtr> GroupTable::columns(RequestBudget& budget) {
  return columns_.get(
      [&]() -> Result<ColumnsPtr> {
        H5_ASSIGN(const OpenedObjectPtr group, file()->object(address(), budget));
        H5_ASSIGN(FoundColumns found, find_columns(*file(), *group, form_, budget, true));
        tell(*file(), *group, found.notes);
        if (found.columns.empty()) return fail({ErrorCode::NotFound, "the group is no table"});
        const auto followed = [&](const GroupColumn& column, std::optional<std::uint64_t> dataset) {
          return dataset
                     ? std::make_unique<FollowedDataset>(file(), *dataset, LinkPlace{address(), column.name})
                     : nullptr;
        };
        auto out = std::make_shared<Columns>();
        for (const GroupColumn& column : found.columns)
          out->all.push_back({followed(column, column.address), followed(column, column.names),
                              followed(column, column.mask)});
        out->what = std::move(found.columns);
        out->is_grid = found.is_grid;
        out->left_out = found.notes.text(TableNotes::Which::All);
        out->decoded = std::move(found.decoded);
        return out;
      },
      budget);
}

Result<object::CategoriesPtr> GroupTable::names_of(const DataState& names, const Table* known,
                                                   const Columns& columns, std::size_t column,
                                                   RequestBudget& budget) {
  if (known != nullptr) {
    const DataState& before = *known->columns[column].names;
    const bool same =
        names.stale.since(before.number).empty() && names.reader->size() == before.reader->size();
    if (same || names.number <= before.number) return known->names[column];
  }
  DatasetReaderPtr reader = names.reader;
  const GroupColumn& what = columns.what[column];
  if (what.of_names) {
    H5_ASSIGN(reader, what.of_names->open(std::move(reader)));
  }
  if (auto problem = reader->problem()) return fail(*std::move(problem));
  if (what.kind == GroupColumn::Kind::Lists) return lists_of(*file(), std::move(reader));
  return read_categories(*file(), *reader, form_.in_boxes() && what.kind == GroupColumn::Kind::Codes, budget);
}

Result<DatasetDescriptionPtr> GroupTable::newest_description(RequestBudget& budget, bool measured) {
  H5_ASSIGN(const ColumnsPtr columns, this->columns(budget));
  std::vector<DatasetDescriptionPtr> datasets, masks;
  std::vector<object::CategoriesPtr> names;
  const States::ValuePtr known = states_.newest_value();
  for (std::size_t i = 0; i < columns->all.size(); ++i) {
    const Column& column = columns->all[i];
    H5_ASSIGN(datasets.emplace_back(), column.values->newest_description(budget, measured));
    if (column.values->is_virtual()) set_virtual();
    masks.emplace_back();
    if (column.mask) {
      H5_ASSIGN(masks.back(), column.mask->newest_description(budget, measured));
    }
    names.push_back(unknown_names(columns->what[i]));
    if (!measured || !column.names) continue;
    H5_ASSIGN(const DataStatePtr state, column.names->newest(budget));
    H5_ASSIGN(names.back(), names_of(*state, known.get(), *columns, i, budget));
  }
  return join(address(), columns->what, columns->is_grid, form_, datasets, masks, names);
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
  std::vector<dataset::DatasetColumn> described;
  std::vector<DatasetReaderPtr> readers;
  std::vector<dataset::StaleMember> stale;
  const auto join = [&](std::string name, const DatasetReaderPtr& reader, object::CategoriesPtr names,
                        bool is_mask, std::vector<dataset::ByteRange> ranges) {
    described.push_back({std::move(name), {reader, &reader->description()}, std::move(names), is_mask});
    readers.push_back(reader);
    stale.push_back({reader->description().element_size, std::move(ranges)});
  };
  object::GridRowsPtr rows;
  if (columns.is_grid) {
    std::vector<DatasetDescriptionPtr> datasets;
    for (const ColumnState& now : state.of)
      datasets.emplace_back(now.values->reader, &now.values->reader->description());
    H5_ASSIGN(rows, rows_of_grid(columns.what, datasets, form_.in_boxes()));
  }
  for (std::size_t i = 0; i < columns.all.size(); ++i) {
    const ColumnState& now = state.of[i];
    const ColumnState* const earlier = before != nullptr ? &before->columns[i] : nullptr;
    const GroupColumn& what = columns.what[i];
    object::CategoriesPtr& names = made->names.emplace_back();
    if (now.names) {
      H5_ASSIGN(names, names_of(*now.names, before, columns, i, budget));
    }
    H5_ASSIGN(DatasetReaderPtr shown,
              open_column(what, now.values->reader, rows, names ? names->count() : format::kUnlimited));
    std::vector<dataset::ByteRange> ranges;
    if (earlier != nullptr)
      ranges = stale_in_column(what, *shown, *before->shown[i], earlier->values->reader->size(),
                               now.values->stale.since(earlier->values->number), columns.is_grid);
    join(what.name, shown, names, false, std::move(ranges));
    made->shown.push_back(std::move(shown));
    if (now.mask)
      join(name_of_mask(what.name), now.mask->reader, nullptr, true,
           earlier != nullptr ? now.mask->stale.since(earlier->mask->number)
                              : std::vector<dataset::ByteRange>());
    made->number += now.number();
  }
  H5_ASSIGN(auto joined, dataset::describe_columns(address(), described));
  if (form_.in_boxes()) joined.boxes = rows;
  if (before == nullptr && state.number > 1) made->stale.add(made->number, {{dataset::kWholeImage}});
  if (before != nullptr) {
    const object::DatasetDescription& earlier = before->reader->description();
    made->stale = before->stale;
    // If the names change, all rows do, and so do boxes with the number of rows.
    const bool same_rows = made->names == before->names && (!joined.boxes || joined.boxes == earlier.boxes);
    made->stale.add(made->number, same_rows ? dataset::stale_in_columns(joined, earlier, stale)
                                            : std::vector{dataset::kWholeImage});
  }
  made->reader = dataset::open_columns(std::move(joined), std::move(readers));
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

Result<std::string> GroupTable::decoded(RequestBudget& budget) {
  H5_ASSIGN(const ColumnsPtr columns, this->columns(budget));
  return columns->decoded;
}

}  // namespace h5mount::tree

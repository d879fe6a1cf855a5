// Tables of datasets side by side: groups, categorical and nullable data, and in the decoded views what
// table_columns.h finds. Threads: any.
#pragma once

#include "../core/states.h"
#include "../objects/followed_dataset.h"
#include "../objects/metadata_lines.h"
#include "group_column.h"

namespace h5mount::tree {

// The columns that find_columns finds, as one dataset; null if the object is no table. The names of
// categories are not known. No sources are opened (known_description_of).
Result<DatasetDescriptionPtr> describe_group_table(ServedFile& file, const OpenedObject& object,
                                                   const TableForm& form, RequestBudget& budget);

// The same of columns that were found.
Result<DatasetDescriptionPtr> describe_found(ServedFile& file, const OpenedObject& object,
                                             const TableForm& form, const FoundColumns& found);

// The views of tables that do not show a group, or not all of it, with the reason.
GroupViews absent_views_of_group(ServedFile& file, const OpenedObject& group, RequestBudget& budget);

class GroupTable final : public FollowedData {
 public:
  GroupTable(ServedFilePtr file, std::uint64_t address, LinkPlace place, TableForm form)
      : FollowedData(std::move(file), address, std::move(place)), form_(std::move(form)) {}

  Result<DatasetDescriptionPtr> newest_description(RequestBudget& budget, bool measured) override;
  Result<DataStatePtr> newest(RequestBudget& budget) override;
  std::uint64_t newest_number() const override;
  Result<std::vector<NodeSource>> sources(RequestBudget& budget) override;
  bool repeats_attempts() const override { return false; }
  Result<std::string> left_out(RequestBudget& budget) override;
  Result<std::string> decoded(RequestBudget& budget) override;

 private:
  struct Column {
    std::unique_ptr<FollowedDataset> values;
    std::unique_ptr<FollowedDataset> names;  // of its codes; null if the column holds values
    std::unique_ptr<FollowedDataset> mask;   // null if no value is missing
  };
  struct Columns {
    std::vector<Column> all;
    std::vector<GroupColumn> what;  // each
    bool is_grid = false;
    std::string left_out, decoded;
  };
  using ColumnsPtr = std::shared_ptr<const Columns>;
  // The states of a column's datasets. The sum of all their numbers is the number of the table's state.
  struct ColumnState {
    DataStatePtr values, names, mask;
    std::uint64_t number() const {
      return values->number + (names ? names->number : 0) + (mask ? mask->number : 0);
    }
  };
  struct Table : DataState {
    std::vector<ColumnState> columns;
    std::vector<DatasetReaderPtr> shown;       // of each column
    std::vector<object::CategoriesPtr> names;  // of each column
  };
  using States = tree::States<std::vector<ColumnState>, Table>;

  // The links of a group do not change while its file is followed.
  Result<ColumnsPtr> columns(RequestBudget& budget);
  Result<States::ValuePtr> make(const Columns& columns, const States::State& state, RequestBudget& budget);
  // The names of a column's codes: those in `known`, if they are still the same.
  Result<object::CategoriesPtr> names_of(const DataState& names, const Table* known, const Columns& columns,
                                         std::size_t column, RequestBudget& budget);
  void note_missing() override;

  const TableForm form_;
  OnceValue<ColumnsPtr> columns_;
  States states_;
};

}  // namespace h5mount::tree

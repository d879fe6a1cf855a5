// Groups as tables: the one-dimensional datasets of a group, if they are equally long, side by side. Links to
// datasets in the same file count as the datasets; everything else in the group is left out. Categorical data
// (categories.h) are columns of names: in a group, and alone as a table of one column. Threads: any.
#pragma once

#include "../core/states.h"
#include "../objects/followed_dataset.h"
#include "h5mount/dataset/joined_datasets.h"

namespace h5mount::tree {

struct GroupColumn {
  std::string name;  // of the link; of categorical data alone `value`
  std::uint64_t address = 0;
  std::optional<std::uint64_t> names = {};  // of the codes at `address`
};

// The datasets that are the columns of a group, in the order of its links; empty if the group is not a table:
// it is the root, has fewer than two such datasets, more than limits::kMaxTableLinks links or names in the
// paths of its soft links, or datasets of different lengths. In a file that is followed, the lengths of
// datasets that can still grow may differ, as a writer appends to one after the other. For categorical data:
// their one column. Errors: links or datasets that cannot be read. `measured`: whether sources may be opened
// (see description_of).
Result<std::vector<GroupColumn>> group_columns(ServedFile& file, const OpenedObject& object,
                                               RequestBudget& budget, bool measured);

// The columns as one dataset; null if the object is not a table. The names of categories are not known.
Result<DatasetDescriptionPtr> describe_group_table(ServedFile& file, const OpenedObject& object,
                                                   RequestBudget& budget, bool measured);

class GroupTable final : public FollowedData {
 public:
  using FollowedData::FollowedData;  // the object is a group, or categorical data

  Result<DatasetDescriptionPtr> newest_description(RequestBudget& budget, bool measured) override;
  Result<DataStatePtr> newest(RequestBudget& budget) override;
  std::uint64_t newest_number() const override;
  Result<std::vector<NodeSource>> sources(RequestBudget& budget) override;
  bool repeats_attempts() const override { return false; }

 private:
  struct Column {
    std::string name;
    std::unique_ptr<FollowedDataset> values;
    std::unique_ptr<FollowedDataset> names;  // of its codes; null if the column holds values
  };
  using Columns = std::shared_ptr<const std::vector<Column>>;
  // The states of a column's datasets. The sum of all their numbers is the number of the table's state.
  struct ColumnState {
    DataStatePtr values, names;
    std::uint64_t number() const { return values->number + (names ? names->number : 0); }
  };
  struct Table : DataState {
    std::vector<ColumnState> columns;
  };
  using States = tree::States<std::vector<ColumnState>, Table>;

  // The links of a group do not change while its file is followed.
  Result<Columns> columns(RequestBudget& budget);
  Result<States::ValuePtr> make(const std::vector<Column>& columns, const States::State& state,
                                RequestBudget& budget);
  // The names of a column's codes: those in `known`, if they are still the same.
  Result<object::CategoriesPtr> names_of(const DataState& names, const Table* known, std::size_t column,
                                         RequestBudget& budget);
  void note_missing() override;

  OnceValue<Columns> columns_;
  States states_;
};

}  // namespace h5mount::tree

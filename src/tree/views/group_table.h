// Groups as tables: the one-dimensional datasets of a group side by side, those of the length that more than
// half of them have. Links to datasets in the same file count as the datasets; everything else in the group
// is left out, and named. Categorical data (categories.h) are columns of names, nullable data columns in
// which values are missing: in a group, and alone as a table of one column. Threads: any.
#pragma once

#include "../core/states.h"
#include "../objects/followed_dataset.h"
#include "../objects/metadata_lines.h"

namespace h5mount::tree {

inline constexpr std::string_view kLeftOutXattr = "user.hdf5.left_out";

// The members that the table of a group leaves out, for those who would miss it: in the log of the mount, in
// the line of the group in metadata.jsonl, and as an extended attribute of the table's files. Threads: one at
// a time.
struct TableNotes {
  struct LeftOut {
    std::string name, why;  // why: a short phrase
    bool expected = false;  // a reader may take it for a column
  };
  enum class Which : std::uint8_t { Expected, All };

  std::vector<LeftOut> left_out;
  std::string no_table;  // why a group with columns is no table

  // `name (why), other (why) and 3 more`; empty if nothing is left out.
  std::string text(Which which) const;
};

// The tables of a file of which the log tells already.
class ToldTables {
 public:
  // False if it was added before, or if there are too many.
  bool add(std::uint64_t address);

 private:
  static constexpr std::size_t kMost = 4096;
  Mutex mutex_;
  std::unordered_set<std::uint64_t> told_ H5_GUARDED_BY(mutex_);
};

struct GroupColumn {
  std::string name;  // of the link; of categorical and nullable data alone `value`
  std::uint64_t address = 0;
  std::optional<std::uint64_t> names = {};  // of the codes at `address`
  std::optional<std::uint64_t> mask = {};   // of the values at `address`
};

// The columns as one dataset, in the order of the group's links; null if the group is not a table: it is the
// root, has more than limits::kMaxTableLinks links or names in the paths of its soft links, or no length that
// more than half of such datasets have, and at least two. In a file that is followed, the lengths of datasets
// that can still grow may differ, as a writer appends to one after the other. For categorical and nullable
// data: their one column. The names of categories are not known. Errors: of the group's links, and those that
// may pass; a member that cannot be read is left out. No sources are opened (known_description_of).
Result<DatasetDescriptionPtr> describe_group_table(ServedFile& file, const OpenedObject& object,
                                                   RequestBudget& budget);

// The views of tables that do not show a group, or not all of it, with the reason.
GroupViews absent_views_of_group(ServedFile& file, const OpenedObject& group, RequestBudget& budget);

class GroupTable final : public FollowedData {
 public:
  using FollowedData::FollowedData;  // the object is a group, or categorical or nullable data

  Result<DatasetDescriptionPtr> newest_description(RequestBudget& budget, bool measured) override;
  Result<DataStatePtr> newest(RequestBudget& budget) override;
  std::uint64_t newest_number() const override;
  Result<std::vector<NodeSource>> sources(RequestBudget& budget) override;
  bool repeats_attempts() const override { return false; }
  Result<std::string> left_out(RequestBudget& budget) override;

 private:
  struct Column {
    std::string name;
    std::unique_ptr<FollowedDataset> values;
    std::unique_ptr<FollowedDataset> names;  // of its codes; null if the column holds values
    std::unique_ptr<FollowedDataset> mask;   // null if no value is missing
  };
  struct Columns {
    std::vector<Column> all;
    std::vector<std::optional<std::size_t>> masks;  // as in DatasetDescription
    std::string left_out;
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
  };
  using States = tree::States<std::vector<ColumnState>, Table>;

  // The links of a group do not change while its file is followed.
  Result<ColumnsPtr> columns(RequestBudget& budget);
  Result<States::ValuePtr> make(const Columns& columns, const States::State& state, RequestBudget& budget);
  // The names of a column's codes: those in `known`, if they are still the same.
  Result<object::CategoriesPtr> names_of(const DataState& names, const Table* known, std::size_t column,
                                         RequestBudget& budget);
  void note_missing() override;

  OnceValue<ColumnsPtr> columns_;
  States states_;
};

}  // namespace h5mount::tree

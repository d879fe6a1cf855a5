// Which datasets are the columns of a table: of a group, of categorical and nullable data (categories.h), and
// of the decoded views of what a convention says to be a table (meaning/tables.h), or a grid
// (grid_columns.h). Threads: any.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "../objects/object_facts.h"
#include "h5mount/dataset/dataset_columns.h"
#include "h5mount/dataset/derivation.h"
#include "h5mount/object/grid_rows.h"

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

// How a table is shown.
struct TableForm {
  bool decoded = false;  // with what conventions say
  dataset::ShownAs shown_as = dataset::ShownAs::TextTable;
  std::string grid = {};  // of a group with several grids: the dimensions of one
  // Rows of a grid need no order in tables by columns.
  bool in_boxes() const { return shown_as == dataset::ShownAs::ColumnTable; }
};

struct GroupColumn {
  enum class Kind : std::uint8_t {
    Values,      // the dataset's elements
    Codes,       // the places along a dimension of the grid, whose names are those of its coordinate
    Coordinate,  // the elements of the dataset at these places
    Places,      // these places
    Lists,       // elements of the dataset `names`, up to the number at `address`
  };
  std::string name;                         // of the link; of categorical and nullable data alone `value`
  std::uint64_t address = 0;                // of a dataset
  std::optional<std::uint64_t> names = {};  // of the codes; for lists, the elements of them
  std::optional<std::uint64_t> mask = {};   // of the values at `address`
  Kind kind = Kind::Values;
  std::size_t axis = 0;  // of the grid
  // What stands for the elements, before they are rows of a grid and after that, and for the names.
  dataset::DerivationPtr first = {}, then = {}, of_names = {};
  DatasetDescriptionPtr described = {}, mask_described = {};  // as found
};

struct FoundColumns {
  std::vector<GroupColumn> columns;  // empty: no table
  bool is_grid = false;              // has a row for each element of the columns of values
  TableNotes notes = {};
  std::string decoded = {};                  // user.hdf5.decoded
  std::vector<OpenedObjectPtr> opened = {};  // of the group's members, as far as there is room for them
};

}  // namespace h5mount::tree

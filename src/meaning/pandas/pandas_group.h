// What the formats of pandas' HDFStore have in common: attributes as PyTables writes them, and columns that
// become those of a table. Threads: one at a time.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "h5mount/meaning/tables.h"
#include "pandas_values.h"
#include "pickled_names.h"

namespace h5mount::meaning {

class PandasGroup {
 public:
  explicit PandasGroup(const GroupSubject& subject) : subject_(subject) {}

  const GroupSubject& subject() const { return subject_; }
  // Reads encoding and nan_rep of the group.
  Status read_texts();
  const PandasTexts& texts() const { return texts_; }

  // A text, a number, or what is pickled; nullopt: there is no such attribute, or nothing like that.
  Result<std::optional<Pickled>> attribute(const object::Object& object, std::string_view name) const;
  // Empty: it is no text.
  Result<std::string> text(const object::Object& object, std::string_view name) const;

  struct Member {
    object::Object object;
    object::DatasetDescription dataset;
  };
  // The dataset at a path below the group; nullopt: there is none, or none that can be read.
  Result<std::optional<Member>> dataset(std::string_view path) const;

  // A column of the table.
  struct Column {
    std::uint64_t address = 0;
    std::uint64_t row_bytes = 0;
    bool no_rows = false;
    RecordColumn record;
    bool named = true;      // false: its number becomes its name
    std::size_t order = 0;  // the columns' order, the same for those of which it is not known
    std::optional<std::uint64_t> names = {};
    dataset::DerivationPtr names_derivation = {};
  };
  void add_index(Column column) { index_.push_back(std::move(column)); }
  // A column that is added like others.
  void note_index(std::string name) { levels_.push_back(std::move(name)); }
  Status add(Column column);
  void leave_out(std::string name, std::string why);
  // For the extended attribute: the zone of a column's times, which are UTC; and that a column holds
  // nanoseconds, by pandas' name of its type.
  void note_type(std::string_view column, std::string_view dtype, const PickledValue* zone);
  void note(std::string_view json) { notes_ += json; }

  // `format`: table or fixed.
  TableDecoding table(std::string_view format);

 private:
  std::string unique(std::string name);
  TableColumn joined(std::span<Column> columns) const;

  const GroupSubject& subject_;
  PandasTexts texts_;
  std::vector<Column> index_, columns_;
  std::vector<TableDecoding::LeftOut> left_out_;
  std::map<std::string, std::size_t> taken_;  // names, and the next number behind each
  std::vector<std::string> levels_;
  std::string notes_, zones_, durations_;
};

// Why columns are left out.
inline constexpr std::string_view kTooManyColumns = "more columns than a table has";

// The order of columns of which it is not known.
inline constexpr std::size_t kLastColumn = ~std::size_t{0};

// Each finds the columns of a group of that format.
Status read_pandas_table(PandasGroup& group);
Status read_pandas_fixed(PandasGroup& group, bool is_series);

}  // namespace h5mount::meaning

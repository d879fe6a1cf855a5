// pandas' HDFStore. A group with the attribute pandas_type is a frame or a series: in the table format a
// PyTables table `table`, in the fixed format an array for each block of columns of one type.
#include <fmt/format.h>

#include <map>

#include "../conventions.h"
#include "h5mount/base/limits.h"
#include "h5mount/meaning/numbers.h"
#include "h5mount/meaning/packing.h"
#include "pandas_group.h"

namespace h5mount::meaning {

namespace {

using Kind = PickledValue::Kind;

// The table format: columns of the compound type, each either one column of the frame or, as array, several
// of one type. What they are is in attributes of the table, named after them.
class PandasTable {
 public:
  explicit PandasTable(PandasGroup& group) : group_(group) {}

  Status read() {
    H5_ASSIGN(auto table, group_.dataset("table"));
    if (!table || table->dataset.type->cls != format::DatatypeClass::Compound) return {};
    table_ = *std::move(table);
    H5_ASSIGN(info_, group_.attribute(group_.subject().object, "info"));
    H5_TRY(read_order());
    H5_TRY(read_index());
    H5_ASSIGN(const auto columns, group_.attribute(group_.subject().object, "values_cols"));
    if (!columns) return {};
    for (const PickledValue* const name : columns->items(columns->root())) H5_TRY(read_values(name->text));
    return {};
  }

 private:
  Result<std::optional<Pickled>> of_table(std::string_view column, std::string_view what) const {
    return group_.attribute(table_.object, fmt::format("{}_{}", column, what));
  }

  // Frames with several columns of one name have them in the order of the blocks.
  Status read_order() {
    H5_ASSIGN(const auto axes, group_.attribute(group_.subject().object, "non_index_axes"));
    if (!axes) return {};
    for (const PickledValue* const axis : axes->items(axes->root())) {
      const auto parts = axes->items(*axis);
      if (parts.size() != 2) continue;
      for (const PickledValue* const item : axes->items(*parts[1]))
        if (const auto name = axes->name(*item)) order_.emplace(*name, order_.size());
    }
    return {};
  }

  const format::CompoundMember* member(std::string_view name) const {
    const auto& members = table_.dataset.type->members;
    const auto found = std::ranges::find(members, name, &format::CompoundMember::name);
    return found == members.end() ? nullptr : &*found;
  }
  // What pandas notes of a column beside the table.
  const PickledValue* noted(std::string_view column, std::string_view key) const {
    const PickledValue* const of_column = info_ ? info_->find(info_->root(), column) : nullptr;
    return of_column ? info_->find(*of_column, key) : nullptr;
  }

  PandasGroup::Column column_of(RecordColumn record) const {
    return {.address = table_.object.address,
            .row_bytes = table_.dataset.element_size,
            .record = std::move(record)};
  }

  // The levels of an index are columns like others; the numbers that stand for it then are not of the frame.
  Status read_index() {
    H5_ASSIGN(const auto levels, group_.attribute(group_.subject().object, "levels"));
    if (levels)
      for (const PickledValue* const level : levels->items(levels->root()))
        group_.note_index(levels->name(*level).value_or(""));
    if (levels && !levels->items(levels->root()).empty()) return {};
    H5_ASSIGN(const auto columns, group_.attribute(group_.subject().object, "index_cols"));
    if (!columns) return {};
    for (const PickledValue* const entry : columns->items(columns->root())) {
      const auto parts = columns->items(*entry);
      if (parts.size() != 2) continue;
      const std::string& name = parts[1]->text;
      if (parts[0]->text == "1") group_.note(R"(,"transposed":true)");
      const format::CompoundMember* const found = member(name);
      if (found == nullptr) continue;
      H5_ASSIGN(const std::string kind, group_.text(table_.object, name + "_kind"));
      const PickledValue* const named = noted(name, "index_name");
      const auto shown = named != nullptr && named->kind != Kind::None ? info_->name(*named) : std::nullopt;
      PandasGroup::Column column = column_of(pandas_column(shown.value_or(name), found->offset, found->type,
                                                           kind, group_.texts(), group_.subject().form));
      group_.note_type(column.record.name, kind, noted(name, "tz"));
      group_.add_index(std::move(column));
    }
    return {};
  }

  Status read_values(const std::string& cname) {
    const format::CompoundMember* const found = member(cname);
    if (found == nullptr) return {};
    const bool several = found->type->cls == format::DatatypeClass::Array;
    const format::DatatypePtr& type = several ? found->type->base : found->type;
    const std::uint32_t count = found->type->size / type->size;
    if (count > limits::kMaxTableColumns) {
      group_.leave_out(cname, std::string(kTooManyColumns));
      return {};
    }
    H5_ASSIGN(const auto kind, of_table(cname, "kind"));
    H5_ASSIGN(const std::string dtype, group_.text(table_.object, cname + "_dtype"));
    H5_ASSIGN(const std::string meta, group_.text(table_.object, cname + "_meta"));
    const auto names = kind ? kind->items(kind->root()) : std::vector<const PickledValue*>();
    PandasGroup::Column first =
        column_of(pandas_column(cname, found->offset, type, dtype, group_.texts(), group_.subject().form));
    if (meta == "category") H5_TRY(find_categories(cname, type, first));
    for (std::uint32_t i = 0; i < count; ++i) {
      PandasGroup::Column column = first;
      column.record.offset = found->offset + std::uint64_t{i} * type->size;
      const auto name = i < names.size() ? kind->name(*names[i]) : std::nullopt;
      column.named = name.has_value();
      const auto place = name ? order_.find(*name) : order_.end();
      column.order = place == order_.end() ? kLastColumn : place->second;
      if (name) column.record.name = *name;
      if (name) group_.note_type(*name, dtype, noted(cname, "tz"));
      H5_TRY(group_.add(std::move(column)));
    }
    return {};
  }

  // Codes of categories, of which the names are a series in a group of their own; without that all are
  // missing.
  Status find_categories(const std::string& cname, const format::DatatypePtr& type,
                         PandasGroup::Column& column) const {
    const auto number = number_type(*type);
    if (!number || !is_integer(number->kind)) return {};
    const std::string path = fmt::format("meta/{}/meta/table", cname);
    H5_ASSIGN(const auto names, group_.dataset(path));
    const auto* const members = names ? &names->dataset.type->members : nullptr;
    const auto found = names ? std::ranges::find(*members, "values", &format::CompoundMember::name)
                             : std::vector<format::CompoundMember>::const_iterator();
    if (!names || found == members->end() || found->type->cls == format::DatatypeClass::Array) {
      Packing packing;
      packing.stored = *number;
      packing.read_as = packing.shown = number->kind;
      packing.fills = {~std::uint64_t{0}};
      column.record.elements = elements_of(packing);
      column.record.type = type_of(number->kind);
      column.record.may_miss = true;
      return {};
    }
    H5_ASSIGN(const std::string dtype, group_.text(names->object, "values_dtype"));
    column.names = names->object.address;
    column.names_derivation = derive_column(pandas_column("values", found->offset, found->type, dtype,
                                                          group_.texts(), dataset::ShownAs::TextTable),
                                            names->dataset.element_size);
    return {};
  }

  PandasGroup& group_;
  PandasGroup::Member table_;
  std::optional<Pickled> info_;
  std::map<std::string, std::size_t> order_;
};

}  // namespace

Status read_pandas_table(PandasGroup& group) {
  return PandasTable(group).read();
}

Result<std::optional<TableDecoding>> decode_pandas(const GroupSubject& subject) {
  PandasGroup group(subject);
  H5_ASSIGN(const std::string type, group.text(subject.object, "pandas_type"));
  if (type.empty()) return std::nullopt;
  H5_TRY(group.read_texts());
  const bool fixed = type == "frame" || type == "series";
  if (!fixed && !type.ends_with("_table")) return std::nullopt;
  H5_TRY(fixed ? read_pandas_fixed(group, type == "series") : read_pandas_table(group));
  return std::optional(group.table(fixed ? "fixed" : "table"));
}

}  // namespace h5mount::meaning

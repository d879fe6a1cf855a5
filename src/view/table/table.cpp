#include "table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "h5mount/base/bytes.h"
#include "h5mount/base/checked.h"

namespace h5mount::view {

namespace {

bool is_complex_compound(const format::Datatype& type) {
  if (type.members.size() != 2 || type.members[0].name != "r" || type.members[1].name != "i") return false;
  const format::Datatype& real = *type.members[0].type;
  const format::Datatype& imaginary = *type.members[1].type;
  return real.cls == format::DatatypeClass::Float && imaginary.cls == format::DatatypeClass::Float &&
         text::datatype_text(real) == text::datatype_text(imaginary);
}

bool is_nested(const format::Datatype& type) {
  if (type.cls == format::DatatypeClass::Array) return true;
  return type.cls == format::DatatypeClass::Compound && !is_complex(type);
}

// The number of an element's columns and the size of their names, computed without making the columns.
struct Extent {
  std::uint64_t columns = 0;     // any number above limits::kMaxTableColumns stands for too many
  std::uint64_t name_bytes = 0;  // at most, of what follows the element's own name in theirs
};
constexpr Extent kTooMany{limits::kMaxTableColumns + 1, 0};

std::uint64_t index_digits(std::uint64_t count) {
  return std::string_view(".").size() + fmt::formatted_size("{}", count);
}

// These columns `count` times, with `bytes` more in each of their names.
Extent times(const Extent& of, std::uint64_t count, std::uint64_t bytes) {
  const auto columns = checked_mul(of.columns, count);
  if (!columns || *columns > limits::kMaxTableColumns) return kTooMany;
  return {*columns, count * of.name_bytes + *columns * bytes};
}

// Recursion ends with the type's depth (limits::kMaxDatatypeDepth).
Result<Extent> extent_of(const format::Datatype& type, RequestBudget& budget) {
  constexpr std::uint64_t kStepsPerType = 8;
  H5_TRY(budget.spend(kStepsPerType));
  if (!is_nested(type)) return Extent{1, 0};
  if (type.cls == format::DatatypeClass::Array) {
    H5_ASSIGN(Extent items, extent_of(*type.base, budget));
    for (const std::uint32_t dim : type.dims) items = times(items, dim, index_digits(dim));
    return items;
  }
  Extent all;
  for (const format::CompoundMember& member : type.members) {
    H5_ASSIGN(const Extent own, extent_of(*member.type, budget));
    all.columns += own.columns;
    all.name_bytes += own.name_bytes + own.columns * (member.name.size() + 1);
    if (all.columns > limits::kMaxTableColumns) return kTooMany;
  }
  return all;
}

std::string joined(const std::string& prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : fmt::format("{}.{}", prefix, name);
}

void add_columns(const std::string& name, const format::DatatypePtr& type, std::uint64_t offset,
                 std::vector<Column>& out);

// Adds one column for each item of the array, or the columns of the item's own type if it has several. Their
// names contain the indices of all dimensions.
void add_items(const std::string& name, const format::Datatype& array, std::size_t dimension,
               std::uint64_t& offset, std::vector<Column>& out) {
  if (dimension == array.dims.size()) {
    add_columns(name, array.base, offset, out);
    offset += array.base->size;
    return;
  }
  for (std::uint32_t i = 0; i < array.dims[dimension]; ++i)
    add_items(joined(name, fmt::format("{}", i)), array, dimension + 1, offset, out);
}

void add_columns(const std::string& name, const format::DatatypePtr& type, std::uint64_t offset,
                 std::vector<Column>& out) {
  if (!is_nested(*type)) {
    out.push_back({name, type, offset});
  } else if (type->cls == format::DatatypeClass::Array) {
    add_items(name, *type, 0, offset, out);
  } else {
    for (const format::CompoundMember& member : type->members)
      add_columns(joined(name, member.name), member.type, offset + member.offset, out);
  }
}

// A nested name may equal another member's own name; the later column then gets a number. Names are compared
// as text, as a file may choose names whose hashes are equal.
void make_unique(std::vector<Column>& columns) {
  std::set<std::string_view> seen;
  for (const Column& column : columns) seen.insert(column.name);
  if (seen.size() == columns.size()) return;
  std::map<std::string_view, std::size_t> last;  // the number in the last name that was made of a name
  for (Column& column : columns) {
    const auto [named, first] = last.try_emplace(column.name, 1);
    if (first) continue;
    std::string name;
    do name = fmt::format("{} ({})", column.name, ++named->second);
    while (seen.contains(name));
    column.name = std::move(name);
    seen.insert(column.name);
  }
}

// Whether the columns' names come from the members of the type alone.
bool has_members(const object::DatasetDescription& dataset) {
  return dataset.side_by_side ||
         (dataset.type->cls == format::DatatypeClass::Compound && !is_complex(*dataset.type));
}

std::uint64_t row_elements(const format::Dataspace& space) {
  return space.rank() == 2 ? space.dims[1] : 1;
}

constexpr std::string_view kOnlyName = "value";  // of the column of a dataset without members

Error no_table(std::string_view why) {
  return {ErrorCode::UnsupportedFeature, std::string(why)};
}

// The members that are columns: those behind them are their masks.
std::span<const format::CompoundMember> joined_columns(const object::DatasetDescription& dataset) {
  const std::span all(dataset.type->members);
  return dataset.masks.empty() ? all : all.first(std::min(all.size(), dataset.masks.size()));
}

// Fails with UnsupportedFeature, and a short phrase, if the dataset is not a table.
Result<Extent> extent_of_rows(const object::DatasetDescription& dataset, RequestBudget& budget) {
  const format::Dataspace& space = dataset.space;
  if (space.kind == format::DataspaceKind::Null) return fail(no_table("a null dataspace has no rows"));
  if (space.rank() > 2) return fail(no_table("more than two dimensions"));
  if (space.rank() == 0 && !has_members(dataset)) return fail(no_table("a scalar"));
  Extent extent;
  if (dataset.side_by_side) {
    for (const format::CompoundMember& member : joined_columns(dataset)) {
      H5_ASSIGN(const Extent own, extent_of(*member.type, budget));
      extent.columns = std::min(kTooMany.columns, extent.columns + own.columns);
      extent.name_bytes += own.name_bytes + own.columns * member.name.size();
    }
  } else {
    H5_ASSIGN(extent, extent_of(*dataset.type, budget));
  }
  const std::uint64_t prefix = space.rank() == 2      ? index_digits(space.dims[1])
                               : has_members(dataset) ? 0
                                                      : kOnlyName.size();
  extent = times(extent, row_elements(space), prefix);
  if (extent.columns == 0) return fail(no_table("no columns"));
  if (extent.columns > limits::kMaxTableColumns) return fail(no_table("too many columns"));
  if (extent.name_bytes > kMaxTableNameBytes) return fail(no_table("column names too long"));
  const auto row_bytes = checked_mul(dataset.element_size, row_elements(space));
  if (!row_bytes || *row_bytes > limits::kMaxTableRowBytes) return fail(no_table("rows too large"));
  return extent;
}

constexpr std::size_t kBytesPerColumn = 192;  // with what a view keeps of each, names apart

// The most memory that a table takes, with what its views keep of each column: its name twice, once of them
// in JSON.
std::size_t memory_of(const Extent& extent) {
  constexpr std::size_t kJsonBytes = 6;  // of one byte: \u0000
  return static_cast<std::size_t>(kBytesPerColumn * extent.columns + (2 + kJsonBytes) * extent.name_bytes);
}

Result<Table> make_table(const object::DatasetDescription& dataset, const Extent& extent,
                         RequestBudget& budget) {
  constexpr std::uint64_t kStepsPerColumn = 1000, kStepsPerNameByte = 16;
  H5_TRY(budget.spend(kStepsPerColumn * extent.columns + kStepsPerNameByte * extent.name_bytes));
  Table table;
  const format::Dataspace& space = dataset.space;
  table.rows = space.rank() == 0 ? 1 : space.dims[0];
  table.row_bytes = dataset.element_size * row_elements(space);
  table.columns.reserve(static_cast<std::size_t>(extent.columns));
  if (dataset.side_by_side) {
    const auto members = joined_columns(dataset);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const format::CompoundMember& member = members[i];
      add_columns(member.name, member.type, member.offset, table.columns);
      // Codes are integers: one column.
      if (i < dataset.categories.size()) table.columns.back().categories = dataset.categories[i];
      // So are the values that a mask is of.
      if (i < dataset.masks.size() && dataset.masks[i])
        table.columns.back().mask = dataset.type->members[*dataset.masks[i]].offset;
    }
  } else if (space.rank() < 2) {
    add_columns(std::string(has_members(dataset) ? "" : kOnlyName), dataset.type, 0, table.columns);
  } else {
    for (std::uint64_t i = 0; i < space.dims[1]; ++i)
      add_columns(fmt::format("{}", i), dataset.type, i * dataset.element_size, table.columns);
  }
  make_unique(table.columns);
  return table;
}

}  // namespace

bool is_complex(const format::Datatype& type) {
  return type.cls == format::DatatypeClass::Complex ||
         (type.cls == format::DatatypeClass::Compound && is_complex_compound(type));
}

Result<std::optional<std::string>> table_unfit(const object::DatasetDescription& dataset,
                                               RequestBudget& budget) {
  const auto extent = extent_of_rows(dataset, budget);
  if (extent) return std::nullopt;
  if (extent.error().code() != ErrorCode::UnsupportedFeature) return fail(extent.error());
  return extent.error().text();
}

Result<std::optional<std::uint64_t>> category_of(const format::Datatype& type, const std::byte* code,
                                                 const object::Categories& categories) {
  const std::uint64_t value = text::stored_bits(type, code);
  const std::uint64_t missing = ~std::uint64_t{0} >> (64 - 8 * type.size);
  if (type.is_signed && value == missing) return std::nullopt;
  if (value < categories.count()) return value;
  return fail(Error(ErrorCode::OutOfRange, "a code that no category has").with_found(value));
}

Result<std::uint64_t> table_columns(const object::DatasetDescription& dataset, RequestBudget& budget) {
  H5_ASSIGN(const Extent extent, extent_of_rows(dataset, budget));
  return extent.columns;
}

Result<Table> table_of(const object::DatasetDescription& dataset, RequestBudget& budget) {
  H5_ASSIGN(const Extent extent, extent_of_rows(dataset, budget));
  return make_table(dataset, extent, budget);
}

Result<Table> table_of(const ViewInput& source, RequestBudget& budget) {
  const object::DatasetDescription& dataset = source.reader->description();
  H5_ASSIGN(const Extent extent, extent_of_rows(dataset, budget));
  H5_ASSIGN(auto charge, source.environment.cache->charge(memory_of(extent)));
  H5_ASSIGN(Table table, make_table(dataset, extent, budget));
  table.charge = std::make_shared<cache::BlockCache::Charge>(std::move(charge));
  return table;
}

void settle_charge(const Table& table, std::size_t text_bytes) {
  std::size_t bytes = text_bytes + kBytesPerColumn * table.columns.size();
  for (const Column& column : table.columns) bytes += column.name.size();
  if (table.charge && bytes < table.charge->bytes()) (void)table.charge->resize(bytes);
}

}  // namespace h5mount::view

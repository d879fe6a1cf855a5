#include "table.h"

#include <fmt/format.h>

#include <unordered_map>

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

// The number of columns of an element; any number above limits::kMaxTableColumns stands for too many.
std::uint64_t columns_of(const format::Datatype& type) {
  if (!is_nested(type)) return 1;
  std::uint64_t count = 0;
  if (type.cls == format::DatatypeClass::Array) {
    count = columns_of(*type.base);
    for (const std::uint32_t dim : type.dims)
      count = checked_mul(count, std::uint64_t{dim}).value_or(limits::kMaxTableColumns + 1);
    return count;
  }
  for (const format::CompoundMember& member : type.members) {
    count += columns_of(*member.type);
    if (count > limits::kMaxTableColumns) break;
  }
  return count;
}

std::string joined(const std::string& prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : fmt::format("{}.{}", prefix, name);
}

void add_columns(const std::string& name, const format::DatatypePtr& type, std::uint64_t offset,
                 std::vector<Column>& out);

// One column an item, or those of the item's own type, named by the indices of all dimensions.
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

// A nested name may equal another member's own name; the later column then gets a number.
void make_unique(std::vector<Column>& columns) {
  std::unordered_map<std::string, std::size_t> seen;
  for (const Column& column : columns) ++seen[column.name];
  if (seen.size() == columns.size()) return;
  std::unordered_map<std::string, std::size_t> given;
  for (Column& column : columns) {
    if (++given[column.name] == 1) continue;
    std::string name;
    for (std::size_t i = given[column.name];; ++i) {
      name = fmt::format("{} ({})", column.name, i);
      if (!seen.contains(name)) break;
    }
    seen[name] = 1;
    column.name = std::move(name);
  }
}

// Whether the columns' names come from the members of the type alone.
bool has_members(const object::DatasetDescription& dataset) {
  return dataset.joined ||
         (dataset.type->cls == format::DatatypeClass::Compound && !is_complex(*dataset.type));
}

std::uint64_t element_columns(const object::DatasetDescription& dataset) {
  if (!dataset.joined) return columns_of(*dataset.type);
  std::uint64_t count = 0;
  for (const format::CompoundMember& member : dataset.type->members)
    count = std::min(limits::kMaxTableColumns + 1, count + columns_of(*member.type));
  return count;
}

std::uint64_t row_elements(const format::Dataspace& space) {
  return space.rank() == 2 ? space.dims[1] : 1;
}

}  // namespace

bool is_complex(const format::Datatype& type) {
  return type.cls == format::DatatypeClass::Complex ||
         (type.cls == format::DatatypeClass::Compound && is_complex_compound(type));
}

std::optional<std::string> table_unfit(const object::DatasetDescription& dataset) {
  const format::Dataspace& space = dataset.space;
  if (space.kind == format::DataspaceKind::Null) return "a null dataspace has no rows";
  if (space.rank() > 2) return "more than two dimensions";
  if (space.rank() == 0 && !has_members(dataset)) return "a scalar";
  const auto columns = checked_mul(element_columns(dataset), row_elements(space));
  if (columns == 0) return "no columns";
  if (!columns || *columns > limits::kMaxTableColumns) return "too many columns";
  const auto row_bytes = checked_mul(dataset.element_size, row_elements(space));
  if (!row_bytes || *row_bytes > limits::kMaxTableRowBytes) return "rows too large";
  return std::nullopt;
}

Result<Table> table_of(const object::DatasetDescription& dataset) {
  if (auto why = table_unfit(dataset)) return fail({ErrorCode::UnsupportedFeature, *std::move(why)});
  Table table;
  const format::Dataspace& space = dataset.space;
  table.rows = space.rank() == 0 ? 1 : space.dims[0];
  table.row_bytes = dataset.element_size * row_elements(space);
  if (dataset.joined) {
    for (const format::CompoundMember& member : dataset.type->members)
      add_columns(member.name, member.type, member.offset, table.columns);
  } else if (space.rank() < 2) {
    add_columns(has_members(dataset) ? "" : "value", dataset.type, 0, table.columns);
  } else {
    for (std::uint64_t i = 0; i < space.dims[1]; ++i)
      add_columns(fmt::format("{}", i), dataset.type, i * dataset.element_size, table.columns);
  }
  make_unique(table.columns);
  return table;
}

}  // namespace h5mount::view

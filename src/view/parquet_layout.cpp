#include "parquet_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/utf8.h"
#include "thrift_writer.h"

namespace h5mount::view {

namespace {

using format::DatatypeClass;
using Conversion = ParquetColumn::Conversion;

// parquet.thrift
constexpr std::int32_t kInt32 = 1, kInt64 = 2, kFloat = 4, kDouble = 5, kFixedBytes = 7;
constexpr std::int32_t kUint8 = 11, kInt8 = 15;  // ConvertedType: then those of 16, 32 and 64 bits
constexpr std::int32_t kRequired = 0, kPlain = 0, kRle = 3, kUncompressed = 0, kDataPage = 0;

constexpr std::uint64_t kMaxColumns = 4096;
constexpr std::uint64_t kMaxFooterEntries = 1U << 19;  // columns of all groups, some 70 bytes each
constexpr std::uint64_t kGroupBytes = 4U << 20;        // of a row group, as stored: a block of the cache
constexpr std::uint64_t kMaxGroupBytes = 64U << 20;

Error no_form(std::string why) {
  return {ErrorCode::UnsupportedFeature, std::move(why)};
}

// Bytes that are not UTF-8 as %XX.
std::string utf8_name(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::size_t bytes = utf8_length(name);
    if (bytes > 0)
      out += name.substr(0, bytes);
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(name[0]));
    name.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out;
}

int size_index(std::uint32_t bytes) {
  return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
}

Status set_number(ParquetColumn& column, const format::Datatype& type) {
  const std::string text = text::datatype_text(type);
  if (text.size() != 3 || !std::string_view("<>|").contains(text[0]))
    return fail(no_form(fmt::format("Parquet has no type for {}", text)));
  column.order = type.order;
  column.stored_bytes = type.size;
  if (type.cls == DatatypeClass::Float) {
    column.physical = type.size == 8 ? kDouble : kFloat;
    column.value_bytes = type.size == 8 ? 8 : 4;
    column.conversion = type.size == 2 ? Conversion::HalfFloat : Conversion::Bytes;
    return {};
  }
  column.physical = type.size == 8 ? kInt64 : kInt32;
  column.value_bytes = type.size == 8 ? 8 : 4;
  column.converted = (type.is_signed ? kInt8 : kUint8) + size_index(type.size);
  column.conversion = type.is_signed ? Conversion::SignExtend : Conversion::ZeroExtend;
  return {};
}

Status set_enum(ParquetColumn& column, const format::Datatype& type) {
  H5_TRY(set_number(column, *type.base));
  const text::ValueContext none;
  for (const format::EnumMember& member : type.enum_members) {
    column.enum_names += column.enum_names.empty() ? "{" : ",";
    text::append_json_string(member.name, column.enum_names);
    column.enum_names += ':';
    H5_TRY(text::append_json(*type.base, member.value, none, column.enum_names));
  }
  column.enum_names += column.enum_names.empty() ? "{}" : "}";
  return {};
}

Status add_column(const Column& source, std::vector<ParquetColumn>& out) {
  const format::Datatype& type = *source.type;
  ParquetColumn column{.name = utf8_name(source.name), .offset = source.offset};
  if (is_complex(type)) {
    const bool own = type.cls == DatatypeClass::Complex;
    const format::Datatype& part = own ? *type.base : *type.members[0].type;
    H5_TRY(set_number(column, part));
    const std::string name = column.name;
    for (std::size_t i = 0; i < 2; ++i) {
      column.name = name + (i == 0 ? ".real" : ".imag");
      column.offset = source.offset + (own ? i * part.size : type.members[i].offset);
      out.push_back(column);
    }
    return {};
  }
  switch (type.cls) {
    case DatatypeClass::Integer:
    case DatatypeClass::Float:
      H5_TRY(set_number(column, type));
      break;
    case DatatypeClass::Enum:
      H5_TRY(set_enum(column, type));
      break;
    case DatatypeClass::Opaque:
    case DatatypeClass::Bitfield:
      column.physical = kFixedBytes;
      column.value_bytes = column.stored_bytes = type.size;
      break;
    default:
      return fail(no_form("members that are neither numbers nor bytes"));
  }
  out.push_back(std::move(column));
  return {};
}

// Whole rows of chunks where they are small, so that a group needs no chunk that its neighbour needs.
std::uint64_t rows_of_group(const object::DatasetDescription& dataset, const Table& table,
                            std::uint64_t columns) {
  const std::uint64_t least_groups_rows = divide_up(table.rows * columns, kMaxFooterEntries);
  std::uint64_t rows = std::max<std::uint64_t>({1, kGroupBytes / table.row_bytes, least_groups_rows});
  const bool chunked = dataset.layout.cls == format::LayoutClass::Chunked;
  const std::uint64_t unit = chunked && !dataset.layout.chunk_dims.empty() ? dataset.layout.chunk_dims[0] : 1;
  return unit <= 4 * rows ? divide_up(rows, unit) * unit : rows;
}

}  // namespace

Result<ParquetLayout> ParquetLayout::of(const object::DatasetDescription& dataset) {
  H5_ASSIGN(const Table table, table_of(dataset));
  ParquetLayout layout;
  for (const Column& column : table.columns) {
    H5_TRY(add_column(column, layout.columns_));
    if (layout.columns_.size() > kMaxColumns) return fail(no_form("too many columns"));
  }
  layout.rows_ = table.rows;
  if (!checked_mul(table.rows, layout.columns_.size())) return fail(no_form("too many rows"));
  layout.rows_per_group_ = rows_of_group(dataset, table, layout.columns_.size());
  std::uint64_t bytes_of_row = 0;
  for (const ParquetColumn& column : layout.columns_) bytes_of_row += column.value_bytes;
  const auto group = checked_mul(layout.rows_per_group_, std::max(bytes_of_row, table.row_bytes));
  if (!group || *group > 4 * kMaxGroupBytes) return fail(no_form("too many rows"));
  return layout;
}

std::string ParquetLayout::page_header(const ParquetColumn& column, std::uint64_t rows) const {
  const auto bytes = static_cast<std::int32_t>(rows * column.value_bytes);
  std::string out;
  ThriftWriter thrift(out);
  thrift.begin();
  thrift.i32(1, kDataPage);
  thrift.i32(2, bytes);
  thrift.i32(3, bytes);
  thrift.begin(5);
  thrift.i32(1, static_cast<std::int32_t>(rows));
  thrift.i32(2, kPlain);
  thrift.i32(3, kRle);
  thrift.i32(4, kRle);
  thrift.end();
  thrift.end();
  return out;
}

std::uint64_t ParquetLayout::group_bytes(std::uint64_t rows) const {
  std::uint64_t bytes = 0;
  for (const ParquetColumn& column : columns_)
    bytes += page_header(column, rows).size() + rows * column.value_bytes;
  return bytes;
}

std::uint64_t ParquetLayout::group_offset(std::uint64_t group) const {
  const std::uint64_t whole = std::min(group, rows_ / rows_per_group_);
  std::uint64_t offset = kParquetMagic.size() + whole * group_bytes(rows_per_group_);
  if (group > whole) offset += group_bytes(rows_of(whole));
  return offset;
}

void ParquetLayout::write_row_group(ThriftWriter& out, std::uint64_t group) const {
  const std::uint64_t rows = rows_of(group);
  std::uint64_t offset = group_offset(group);
  out.begin();
  out.list_of_structs(1, columns_.size());
  for (const ParquetColumn& column : columns_) {
    const std::uint64_t bytes = page_header(column, rows).size() + rows * column.value_bytes;
    out.begin();
    out.i64(2, static_cast<std::int64_t>(offset));
    out.begin(3);
    out.i32(1, column.physical);
    out.list_of_i32(2, 1);
    out.element(kPlain);
    out.list_of_texts(3, 1);
    out.element(std::string_view(column.name));
    out.i32(4, kUncompressed);
    out.i64(5, static_cast<std::int64_t>(rows));
    out.i64(6, static_cast<std::int64_t>(bytes));
    out.i64(7, static_cast<std::int64_t>(bytes));
    out.i64(9, static_cast<std::int64_t>(offset));
    out.end();
    out.end();
    offset += bytes;
  }
  out.i64(2, static_cast<std::int64_t>(group_bytes(rows)));
  out.i64(3, static_cast<std::int64_t>(rows));
  out.end();
}

std::string ParquetLayout::footer() const {
  std::string out;
  ThriftWriter thrift(out);
  thrift.begin();
  thrift.i32(1, 1);
  thrift.list_of_structs(2, columns_.size() + 1);
  thrift.begin();
  thrift.text(4, "schema");
  thrift.i32(5, static_cast<std::int32_t>(columns_.size()));
  thrift.end();
  for (const ParquetColumn& column : columns_) {
    thrift.begin();
    thrift.i32(1, column.physical);
    if (column.physical == kFixedBytes) thrift.i32(2, static_cast<std::int32_t>(column.value_bytes));
    thrift.i32(3, kRequired);
    thrift.text(4, column.name);
    if (column.converted) thrift.i32(6, *column.converted);
    thrift.end();
  }
  thrift.i64(3, static_cast<std::int64_t>(rows_));
  thrift.list_of_structs(4, static_cast<std::size_t>(groups()));
  for (std::uint64_t group = 0; group < groups(); ++group) write_row_group(thrift, group);
  const auto named = [](const ParquetColumn& column) { return !column.enum_names.empty(); };
  if (const auto count = std::ranges::count_if(columns_, named); count > 0) {
    thrift.list_of_structs(5, static_cast<std::size_t>(count));
    for (const ParquetColumn& column : columns_) {
      if (!named(column)) continue;
      thrift.begin();
      thrift.text(1, "enum:" + column.name);
      thrift.text(2, column.enum_names);
      thrift.end();
    }
  }
  thrift.text(6, "h5mount");
  thrift.end();
  const std::uint64_t length = out.size();
  for (unsigned i = 0; i < 4; ++i) out += static_cast<char>(length >> (8 * i) & 0xFF);
  return out.append(kParquetMagic);
}

}  // namespace h5mount::view

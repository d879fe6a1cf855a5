#include "parquet_metadata.h"

#include <algorithm>
#include <array>

#include "h5mount/view/view.h"
#include "parquet_types.h"

namespace h5mount::view {

namespace {

using namespace parquet;

// The schema of a list below its own name.
constexpr std::array<std::string_view, 2> kListLevels = {"list", "element"};

void begin_list(ThriftWriter& out, std::string_view name) {
  out.begin();
  out.i32(3, kRequired);
  out.text(4, name);
  out.i32(5, 1);
  out.i32(6, kListOf);
  out.begin(10);  // LogicalType
  out.begin(3);   // ListType
  out.end();
  out.end();
  out.end();
  out.begin();
  out.i32(3, kRepeated);
  out.text(4, kListLevels.front());
  out.i32(5, 1);
  out.end();
}

}  // namespace

void write_schema(ThriftWriter& out, const std::vector<ParquetColumn>& columns) {
  const auto lists =
      std::ranges::count_if(columns, [](const ParquetColumn& c) { return c.list.has_value(); });
  out.list_of_structs(2, columns.size() + 1 + 2 * static_cast<std::size_t>(lists));
  out.begin();
  out.text(4, "schema");
  out.i32(5, static_cast<std::int32_t>(columns.size()));
  out.end();
  for (const ParquetColumn& column : columns) {
    if (column.list) begin_list(out, column.name);
    out.begin();
    out.i32(1, column.physical);
    if (column.physical == kFixedBytes) out.i32(2, static_cast<std::int32_t>(column.value_bytes));
    out.i32(3, column.optional ? kOptional : kRequired);
    out.text(4, column.list ? kListLevels.back() : column.name);
    if (column.converted) out.i32(6, *column.converted);
    if (column.converted == kUtf8) {
      out.begin(10);  // LogicalType, a union
      out.begin(1);   // StringType
      out.end();
      out.end();
    }
    if (column.is_timestamp) {
      out.begin(10);       // LogicalType
      out.begin(8);        // TimestampType
      out.flag(1, false);  // adjusted to UTC
      out.begin(2);        // TimeUnit, a union
      out.begin(2);        // MicroSeconds
      out.end();
      out.end();
      out.end();
      out.end();
    }
    out.end();
  }
}

void write_row_group(ThriftWriter& out, const std::vector<ParquetColumn>& columns,
                     const ParquetGroup& group) {
  const auto rows = static_cast<std::int64_t>(group.rows);
  std::uint64_t offset = group.offset;
  out.begin();
  out.list_of_structs(1, columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ParquetColumn& column = columns[i];
    const std::uint64_t names = group.columns[i].names, bytes = names + group.columns[i].page;
    out.begin();
    out.i64(2, static_cast<std::int64_t>(offset));
    out.begin(3);
    out.i32(1, column.physical);
    out.list_of_i32(2, names > 0 ? 3 : 1);
    out.element(kPlain);
    if (names > 0) out.element(kRle), out.element(kRleDictionary);
    out.list_of_texts(3, column.list ? 1 + kListLevels.size() : 1);
    out.element(std::string_view(column.name));
    for (std::size_t level = 0; column.list && level < kListLevels.size(); ++level)
      out.element(kListLevels[level]);
    out.i32(4, kUncompressed);
    out.i64(5, group.columns[i].values > 0 ? static_cast<std::int64_t>(group.columns[i].values) : rows);
    out.i64(6, static_cast<std::int64_t>(bytes));
    out.i64(7, static_cast<std::int64_t>(bytes));
    out.i64(9, static_cast<std::int64_t>(offset + names));
    if (names > 0) out.i64(11, static_cast<std::int64_t>(offset));
    if (!group.columns[i].least.empty()) {
      out.begin(12);  // Statistics
      out.text(5, group.columns[i].most);
      out.text(6, group.columns[i].least);
      out.end();
    }
    out.end();
    out.end();
    offset += bytes;
  }
  out.i64(2, static_cast<std::int64_t>(offset - group.offset));
  out.i64(3, rows);
  out.end();
}

std::string parquet_page_header(std::int32_t type, std::uint64_t page_bytes, std::uint64_t values,
                                std::int32_t encoding) {
  const auto bytes = static_cast<std::int32_t>(page_bytes);
  std::string out;
  ThriftWriter thrift(out);
  thrift.begin();
  thrift.i32(1, type);
  thrift.i32(2, bytes);
  thrift.i32(3, bytes);
  thrift.begin(type == kDataPage ? 5 : 7);
  thrift.i32(1, static_cast<std::int32_t>(values));
  thrift.i32(2, encoding);
  if (type == kDataPage) thrift.i32(3, kRle), thrift.i32(4, kRle);
  thrift.end();
  thrift.end();
  return out;
}

void end_parquet_footer(ThriftWriter& thrift, std::size_t ordered, std::string& out) {
  thrift.text(6, "h5mount");
  if (ordered > 0) thrift.list_of_structs(7, ordered);
  for (std::size_t i = 0; i < ordered; ++i) {
    thrift.begin();   // ColumnOrder, a union
    thrift.begin(1);  // TypeDefinedOrder
    thrift.end();
    thrift.end();
  }
  thrift.end();
  append_le(out.size(), 4, out);
  out += kParquetMagic;
}

}  // namespace h5mount::view

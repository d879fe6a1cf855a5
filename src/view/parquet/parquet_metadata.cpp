#include "parquet_metadata.h"

#include "parquet_types.h"

namespace h5mount::view {

namespace {

using namespace parquet;

}  // namespace

void write_schema(ThriftWriter& out, const std::vector<ParquetColumn>& columns) {
  out.list_of_structs(2, columns.size() + 1);
  out.begin();
  out.text(4, "schema");
  out.i32(5, static_cast<std::int32_t>(columns.size()));
  out.end();
  for (const ParquetColumn& column : columns) {
    out.begin();
    out.i32(1, column.physical);
    if (column.physical == kFixedBytes) out.i32(2, static_cast<std::int32_t>(column.value_bytes));
    out.i32(3, column.optional ? kOptional : kRequired);
    out.text(4, column.name);
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
    out.list_of_texts(3, 1);
    out.element(std::string_view(column.name));
    out.i32(4, kUncompressed);
    out.i64(5, rows);
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

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "../../src/view/parquet/parquet_layout.h"
#include "every_type.h"
#include "parquet_decoder.h"

namespace h5mount::test {
namespace {

// parquet.thrift
enum Physical { kBoolean = 0, kInt32 = 1, kInt64 = 2, kFloat = 4, kDouble = 5, kByteArray = 6, kFixed = 7 };
constexpr int kUtf8 = 0, kUint8 = 11, kInt8 = 15, kNone = -1;

struct ColumnCase {
  std::string name;
  int physical, converted;
  std::string values;  // PLAIN
};

std::string texts(const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& text : values) out += number(text.size(), 4) + text;
  return out;
}

void expect_columns(std::string_view path, std::int64_t rows, const std::vector<ColumnCase>& columns) {
  SCOPED_TRACE(path);
  const auto file = every_type().open("parquet", path);
  const std::string whole = all_of(*file);
  ParquetDecoder parquet(whole);
  EXPECT_EQ(parquet.rows(), rows);
  ASSERT_EQ(parquet.columns(), columns.size());
  for (std::size_t i = 1; i <= columns.size(); ++i) {
    const ColumnCase& wanted = columns[i - 1];
    const Thrift& column = parquet.schema(i);
    EXPECT_EQ(column[4].text, wanted.name);
    EXPECT_EQ(column[1].number, wanted.physical) << wanted.name;
    EXPECT_EQ(column[3].number, 0) << wanted.name << " is required";
    EXPECT_EQ(column.has(6) ? column[6].number : kNone, wanted.converted) << wanted.name;
    EXPECT_EQ(column.has(10), wanted.converted == kUtf8) << wanted.name;
    EXPECT_EQ(parquet.values(i), wanted.values) << wanted.name;
  }
  expect_file(*file, whole);
}

// Of an integer of so many bytes in one of 4 or 8.
std::uint64_t extended(std::uint64_t value, std::size_t bytes, bool is_signed) {
  const bool negative = is_signed && (value >> (8 * bytes - 1) & 1) != 0;
  return negative && bytes < 8 ? value | ~std::uint64_t{0} << (8 * bytes) : value;
}

TEST(ParquetView, IntegersOfBothByteOrders) {
  for_each_number([](const std::string& path, const NumberCase& integers, Order) {
    if (integers.name[0] == 'f') return;
    const bool is_signed = integers.name[0] == 'i';
    const std::size_t width = integers.bytes == 8 ? 8 : 4;
    std::string values;
    for (const std::uint64_t value : integers.values)
      values += number(extended(value, integers.bytes, is_signed), width);
    const int by_width = integers.bytes == 1 ? 0 : integers.bytes == 2 ? 1 : integers.bytes == 4 ? 2 : 3;
    expect_columns(
        path, static_cast<std::int64_t>(integers.values.size()),
        {{"value", width == 8 ? kInt64 : kInt32, (is_signed ? kInt8 : kUint8) + by_width, values}});
  });
}

TEST(ParquetView, FloatsOfBothByteOrders) {
  // Halves are floats: 0, -0, 1, -1.5, 0.0999755859375, 2^-24, 65504, the infinities, NaN.
  const std::vector<std::uint64_t> halves{0,          0x80000000, 0x3F800000, 0xBFC00000, 0x3DCCC000,
                                          0x33800000, 0x477FE000, 0x7F800000, 0xFF800000, 0x7FC00000};
  for_each_number([&](const std::string& path, const NumberCase& floats, Order) {
    if (floats.name[0] != 'f') return;
    const bool is_half = floats.bytes == 2;
    expect_columns(path, 10,
                   {{"value", floats.bytes == 8 ? kDouble : kFloat, kNone,
                     numbers(is_half ? halves : floats.values, is_half ? 4 : floats.bytes)}});
  });
}

TEST(ParquetView, TextsAreUtf8OrBytes) {
  expect_columns("variable", 8,
                 {{"value", kByteArray, kUtf8,
                   texts({"", "plain", "comma, semicolon;", "say \"x\"", "line\nbreak", "tab\there", "cr\r",
                          "\u00e4\u20ac\U0001f600"})}});
  expect_columns("not_utf8", 2, {{"value", kByteArray, kNone, texts({"\xff", "ok"})}});
  expect_columns("fixed", 5,
                 {{"value", kByteArray, kUtf8, texts({"ab", "a,\"b", "", "abcd", std::string("a\0b", 3)})}});
}

// Eight to a byte, the first in the lowest bit.
TEST(ParquetView, BooleansAreBits) {
  expect_columns("booleans", 9, {{"value", kBoolean, kNone, std::string("\x4D\x01", 2)}});
}

TEST(ParquetView, EnumerationsAreNumbersOrTheirNames) {
  expect_columns("enumeration", 4, {{"value", kInt32, kInt8 + 1, numbers({0xFFFFFFFF, 2, 300, 5}, 4)}});
  expect_columns("small_enumeration", 3, {{"value", kByteArray, kUtf8, texts({"yes", "no", "yes"})}});
  const auto file = every_type().open("parquet", "enumeration");
  const auto names = ParquetDecoder(all_of(*file)).key_values();
  ASSERT_TRUE(names.contains("enum:value"));
  for (const char* pair : {R"("RED":-1)", R"("say \"x\"":2)", R"("a,b":300)"})
    EXPECT_NE(names.at("enum:value").find(pair), std::string::npos) << names.at("enum:value");
}

TEST(ParquetView, BytesAndComplexNumbers) {
  expect_columns("opaque", 3, {{"value", kFixed, kNone, std::string("\0\1\2abc\xff\xfe\xfd", 9)}});
  const auto file = every_type().open("parquet", "opaque");
  EXPECT_EQ(ParquetDecoder(all_of(*file)).schema(1)[2].number, 3) << "type_length";
  expect_columns("complex", 3,
                 {{"value.real", kFloat, kNone, numbers({0x3F800000, 0x80000000, 0x7FC00000}, 4)},
                  {"value.imag", kFloat, kNone, numbers({0x40000000, 0xBF000000, 0x7F800000}, 4)}});
}

TEST(ParquetView, ColumnsOfMembersAndItems) {
  expect_columns("table", 3,
                 {{"id", kInt32, kUint8 + 2, numbers({0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD}, 4)},
                  {"p.x", kInt32, kInt8 + 1, numbers({0, 0xFFFFFFFF, 0xFFFFFFFE}, 4)},
                  {"p.y", kFloat, kNone, numbers({0x3F000000, 0x3FC00000, 0x40200000}, 4)},
                  {"v.0", kInt32, kInt8, numbers({0, 1, 2}, 4)},
                  {"v.1", kInt32, kInt8, numbers({0xFFFFFF80, 0xFFFFFF81, 0xFFFFFF82}, 4)},
                  {"name", kByteArray, kUtf8, texts({"one", "", "a,b"})}});
  expect_columns("matrix", 2,
                 {{"0", kInt32, kUint8 + 1, numbers({0, 3000}, 4)},
                  {"1", kInt32, kUint8 + 1, numbers({1000, 4000}, 4)},
                  {"2", kInt32, kUint8 + 1, numbers({2000, 5000}, 4)}});
  std::vector<ColumnCase> odd;
  const char* const names[] = {"a,b", "say \"x\"", "new\nline", "tab\t", "\u00e4\\"};
  for (std::uint64_t i = 0; i < 5; ++i) odd.push_back({names[i], kInt32, kInt8, number(i + 1, 4)});
  expect_columns("odd_names", 1, odd);
}

TEST(ParquetView, ATableWithoutRowsHasNoRowGroups) {
  expect_columns("no_rows", 0, {{"value", kInt32, kInt8 + 2, ""}});
}

TEST(ParquetView, WhatItDoesNotShow) {
  EXPECT_EQ(every_type().unfit("parquet", "scalar"), "a scalar");
  EXPECT_EQ(every_type().unfit("parquet", "sequences"),
            "members that are neither numbers, strings nor bytes");
}

class LongParquetView : public testing::TestWithParam<const char*> {
 protected:
  static constexpr std::uint64_t kRows = 100'003;
  static const ViewFile& tables() {
    static const ViewFile file(written_by_program("view/fixtures/long_tables.py"));
    return file;
  }
};

TEST_P(LongParquetView, HasEveryRowInItsRowGroups) {
  const auto file = tables().open("parquet", GetParam());
  const std::string whole = all_of(*file);
  ParquetDecoder parquet(whole);
  EXPECT_GT(parquet.groups(), 2U);
  std::string values, choices, names;
  for (std::uint64_t i = 0; i < kRows; ++i) {
    values += number(3 * i, 8);
    choices += i < 60'000 ? std::string("\2\0\0\0no", 6) : std::string("\3\0\0\0yes", 7);
    names += std::string("\x0B\0\0\0", 4) + fmt::format("row {:07}", i);
  }
  EXPECT_EQ(difference(parquet.values(1), values), "");
  EXPECT_EQ(difference(parquet.values(2), choices), "");
  EXPECT_EQ(difference(parquet.values(3), std::string(91 * kRows, '\0')), "");
  if (parquet.columns() > 3) EXPECT_EQ(difference(parquet.values(4), names), "");
  EXPECT_EQ(parquet.columns(), GetParam() == std::string_view("texts") ? 4U : 3U);
  std::mt19937_64 random(11);
  for (int i = 0; i < 60; ++i) {
    const std::uint64_t offset = random() % whole.size(), length = random() % (i < 50 ? 9000 : whole.size());
    ASSERT_EQ(difference(bytes_of(*file, offset, length), whole.substr(offset, length)), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Columns, LongParquetView, testing::Values("numbers", "texts"),
                         [](const auto& info) { return std::string(info.param); });

// It is computed for any number of row groups, whose numbers and offsets have one byte more here and there.
TEST(ParquetLayout, TheFootersSizeIsKnownWithoutTheFooter) {
  for (const char* path : {"little/i2", "small_enumeration", "complex"})
    for (const std::uint64_t rows_per_group : {1U, 7U, 900U})
      for (const std::uint64_t groups : {0U, 1U, 2U, 3U, 14U, 15U, 16U, 62U, 127U, 128U, 129U, 1300U}) {
        object::DatasetDescription dataset = every_type().description(path);
        for (const std::uint64_t left_out : {0U, 1U}) {
          const std::uint64_t rows = groups * rows_per_group - std::min(left_out, groups);
          dataset.space.dims[0] = dataset.space.max_dims[0] = rows;
          dataset.image_bytes = rows * dataset.element_size;
          const view::Table table = view::table_of(dataset, Unbounded()).value();
          auto layout = view::ParquetLayout::of(dataset, table, Unbounded(), rows_per_group).value();
          ASSERT_EQ(layout.footer_size(), layout.footer().size()) << path << ": " << rows << " rows";
          ASSERT_LE(layout.footer_size(), layout.most_footer_bytes());
        }
      }
}

}  // namespace
}  // namespace h5mount::test

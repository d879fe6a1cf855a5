// The raw view, and .npy files as NumPy enhancement proposal 1 defines them.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "every_type.h"

namespace h5mount::test {
namespace {

// The magic, version 1.0, the header's length, a Python literal, spaces, a newline: a page.
std::string npy_header(const std::string& descr, const std::string& shape) {
  constexpr std::size_t kPage = 4096, kPrefix = 10;
  std::string out = "\x93NUMPY" + number(1, 1) + number(0, 1) + number(kPage - kPrefix, 2);
  out += fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': {}, }}", descr, shape);
  out.resize(kPage - 1, ' ');
  return out + '\n';
}

void expect_npy(std::string_view path, const std::string& descr, const std::string& shape,
                const std::string& data) {
  SCOPED_TRACE(path);
  expect_file(*every_type().open("npy", path), npy_header(descr, shape) + data);
}

TEST(RawView, IsTheStoredBytesOfNumbers) {
  for_each_number([](const std::string& path, const NumberCase& number, Order order) {
    expect_file(*every_type().open("", path), numbers(number.values, number.bytes, order));
  });
}

TEST(RawView, IsTheStoredBytesOfOtherTypes) {
  const ViewFile& file = every_type();
  expect_file(*file.open("", "fixed"), std::string("ab\0\0a,\"b\0\0\0\0abcda\0b\0", 20));
  expect_file(*file.open("", "enumeration"), numbers({0xFFFF, 2, 300, 5}, 2));
  expect_file(*file.open("", "booleans"), numbers({1, 0, 1, 1, 0, 0, 1, 0, 1}, 1));
  expect_file(*file.open("", "opaque"), std::string("\0\1\2abc\xff\xfe\xfd", 9));
  expect_file(*file.open("", "arrays"), numbers({1, 2, 3, 0xFFFF, 0xFFFE, 0xFFFD}, 2, Order::Big));
  expect_file(*file.open("", "table"), table_rows());
  expect_file(*file.open("", "one_row"), table_rows().substr(26, 26));
  expect_file(*file.open("", "scalar"), numbers({0xFFFFFFF9}, 4));
  for (const char* empty : {"nothing", "no_rows", "no_columns"}) expect_file(*file.open("", empty), "");
}

TEST(RawView, IsALineAnElementWhereItsTypeHasNoBytes) {
  expect_file(*every_type().open("", "sequences"), "[1,-2]\n[]\n[3]\n");
  expect_file(*every_type().open("", "not_utf8"), "\xff\nok\n");
}

TEST(NpyView, NumbersOfBothByteOrders) {
  for_each_number([](const std::string& path, const NumberCase& number, Order order) {
    const char* const mark = number.bytes == 1 ? "|" : order == Order::Big ? ">" : "<";
    expect_npy(path, fmt::format("'{}{}'", mark, number.name), fmt::format("({}, )", number.values.size()),
               numbers(number.values, number.bytes, order));
  });
}

TEST(NpyView, ShapesOfAnyRank) {
  expect_npy("scalar", "'<i4'", "()", numbers({0xFFFFFFF9}, 4));
  expect_npy("no_rows", "'<i4'", "(0, )", "");
  expect_npy("no_columns", "'<i4'", "(3, 0, )", "");
  expect_npy("matrix", "'>u2'", "(2, 3, )", numbers({0, 1000, 2000, 3000, 4000, 5000}, 2, Order::Big));
  expect_npy("arrays", "'>i2'", "(2, 3, )", numbers({1, 2, 3, 0xFFFF, 0xFFFE, 0xFFFD}, 2, Order::Big));
}

TEST(NpyView, TypesThatNumpyHas) {
  expect_npy("fixed", "'|S4'", "(5, )", std::string("ab\0\0a,\"b\0\0\0\0abcda\0b\0", 20));
  expect_npy("enumeration", "'<i2'", "(4, )", numbers({0xFFFF, 2, 300, 5}, 2));
  expect_npy("booleans", "'|b1'", "(9, )", numbers({1, 0, 1, 1, 0, 0, 1, 0, 1}, 1));
  expect_npy("opaque", "'|V3'", "(3, )", std::string("\0\1\2abc\xff\xfe\xfd", 9));
  expect_npy("complex", "'<c8'", "(3, )",
             numbers({0x3F800000, 0x40000000, 0x80000000, 0xBF000000, 0x7FC00000, 0x7F800000}, 4));
}

TEST(NpyView, PaddingOfCompoundsHasItsPlaceInTheType) {
  const std::string point = "[('', '|V1'), ('x', '<i2'), ('', '|V3'), ('y', '>f4'), ('', '|V2'), ]";
  const std::string row = "[('id', '<u4'), ('p', " + point +
                          "), ('', '|V2'), ('v', '|i1', (2, )), ('', '|V1'), ('name', '|S3'), ('', '|V2'), ]";
  expect_npy("table", row, "(3, )", table_rows());
  expect_npy("one_row", row, "()", table_rows().substr(26, 26));
  const std::string odd =
      R"([('a,b', '|i1'), ('say "x"', '|i1'), ('new\x0aline', '|i1'), ('tab\x09', '|i1'), )"
      R"(('\xe4\\', '|i1'), ])";
  expect_npy("odd_names", odd, "(1, )", "\1\2\3\4\5");
}

TEST(NpyView, TypesThatNumpyDoesNotHave) {
  EXPECT_EQ(every_type().unfit("npy", "nothing"), "a null dataspace has no shape");
  for (const char* path : {"variable", "sequences"})
    EXPECT_EQ(every_type().unfit("npy", path), "elements of variable length") << path;
}

}  // namespace
}  // namespace h5mount::test

// The file of fixtures/every_type.py, and the values in it. The texts and bytes that tests expect are written
// down here and there from the definitions of the formats, and not made with the code that they test.
#pragma once

#include "view_file.h"

namespace h5mount::test {

inline const ViewFile& every_type() {
  static const ViewFile file(written_by_program("view/fixtures/every_type.py"));
  return file;
}

struct NumberCase {
  const char* name;
  std::size_t bytes;
  std::vector<std::uint64_t> values;  // their bits
  std::vector<const char*> texts;     // as CSV has them: the shortest that this type reads back
};

// Of the groups `little` and `big`.
inline const std::vector<NumberCase>& number_cases() {
  static const std::vector<NumberCase> cases{
      {"i1", 1, {0x80, 0xFF, 0, 1, 0x7F}, {"-128", "-1", "0", "1", "127"}},
      {"u1", 1, {0, 1, 0x80, 0xFF}, {"0", "1", "128", "255"}},
      {"i2", 2, {0x8000, 0xFFFF, 0, 1, 0x7FFF}, {"-32768", "-1", "0", "1", "32767"}},
      {"u2", 2, {0, 1, 0x8000, 0xFFFF}, {"0", "1", "32768", "65535"}},
      {"i4", 4, {0x80000000, 0xFFFFFFFF, 0, 1, 0x7FFFFFFF}, {"-2147483648", "-1", "0", "1", "2147483647"}},
      {"u4", 4, {0, 1, 0x80000000, 0xFFFFFFFF}, {"0", "1", "2147483648", "4294967295"}},
      {"i8",
       8,
       {0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 0, 1, 0x7FFFFFFFFFFFFFFF},
       {"-9223372036854775808", "-1", "0", "1", "9223372036854775807"}},
      {"u8",
       8,
       {0, 1, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF},
       {"0", "1", "9223372036854775808", "18446744073709551615"}},
      {"f2",
       2,
       {0, 0x8000, 0x3C00, 0xBE00, 0x2E66, 1, 0x7BFF, 0x7C00, 0xFC00, 0x7E00},
       {"0.0", "-0.0", "1.0", "-1.5", "0.1", "6e-08", "65504.0", "Infinity", "-Infinity", "NaN"}},
      {"f4",
       4,
       {0, 0x80000000, 0x3F800000, 0xBFC00000, 0x3DCCCCCD, 1, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000},
       {"0.0", "-0.0", "1.0", "-1.5", "0.1", "1e-45", "3.4028235e+38", "Infinity", "-Infinity", "NaN"}},
      {"f8",
       8,
       {0, 1ULL << 63, 0x3FF0000000000000, 0xBFF8000000000000, 0x3FB999999999999A, 1, 0x7FEFFFFFFFFFFFFF,
        0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000},
       {"0.0", "-0.0", "1.0", "-1.5", "0.1", "5e-324", "1.7976931348623157e+308", "Infinity", "-Infinity",
        "NaN"}},
  };
  return cases;
}

// Runs a check of each numeric dataset: its path, its case, its byte order.
template <class Check>
void for_each_number(const Check& check) {
  for (const Order order : {Order::Little, Order::Big})
    for (const NumberCase& number : number_cases()) {
      const std::string path = std::string(order == Order::Big ? "big/" : "little/") + number.name;
      SCOPED_TRACE(path);
      check(path, number, order);
    }
}

// The padded rows of `table`: 26 bytes each, and what is not a member is 0xEE.
inline std::string table_rows() {
  std::string out;
  const char* const names[] = {"one", "", "a,b"};
  const std::uint64_t halves[] = {0x3F000000, 0x3FC00000, 0x40200000};  // 0.5, 1.5, 2.5
  for (std::uint64_t i = 0; i < 3; ++i) {
    std::string name = names[i];
    name.resize(3, '\0');
    out += number(0xFFFFFFFF - i, 4) + "\xEE" + number(std::uint64_t{0} - i, 2) + "\xEE\xEE\xEE" +
           number(halves[i], 4, Order::Big) + "\xEE\xEE\xEE\xEE" + number(i, 1) + number(0x80 + i, 1) +
           "\xEE" + name + "\xEE\xEE";
  }
  return out;
}

}  // namespace h5mount::test

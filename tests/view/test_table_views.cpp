// Tables as text: CSV by RFC 4180, tabs, and a JSON object (RFC 8259) a line; and the view text.
#include <gtest/gtest.h>

#include "every_type.h"

namespace h5mount::test {
namespace {

void expect_text(std::string_view view, std::string_view path, std::string_view wanted) {
  SCOPED_TRACE(std::string(view) + " of " + std::string(path));
  expect_file(*every_type().open(view, path), wanted);
}

TEST(TableViews, NumbersAsCsvAndTsv) {
  for_each_number([](const std::string& path, const NumberCase& number, Order) {
    std::string lines = "value\n";
    for (const std::string text : number.texts) lines += text + '\n';
    expect_text("csv", path, lines);
    expect_text("tsv", path, lines);
    expect_text("text", path, lines.substr(lines.find('\n') + 1));
  });
}

// Rows of one length: the longest number of the type and spaces. JSON has no NaN and no infinities.
TEST(TableViews, NumbersAsJson) {
  for_each_number([](const std::string& path, const NumberCase& number, Order) {
    const bool is_float = number.name[0] == 'f';
    const std::size_t digits[] = {0, 4, 6, 0, 11, 0, 0, 0, 20};  // of -128, -32768, …
    const std::size_t width = !is_float           ? digits[number.bytes]
                              : number.bytes == 8 ? 25
                              : number.bytes == 4 ? 19
                                                  : 17;
    std::string lines;
    for (std::string text : number.texts) {
      if (text == "NaN") text = "null";
      if (text.ends_with("Infinity")) text = '"' + text + '"';
      ASSERT_LE(text.size(), width);
      text.resize(width, ' ');
      lines += "{\"value\":" + text + "}\n";
    }
    expect_text("ndjson", path, lines);
  });
}

TEST(TableViews, TextsAreQuotedWhereTheyMustBe) {
  expect_text("csv", "variable",
              "value\n\"\"\nplain\n\"comma, semicolon;\"\n\"say \"\"x\"\"\"\n\"line\nbreak\"\ntab\there\n"
              "\"cr\r\"\n\u00e4\u20ac\U0001f600\n");
  expect_text("tsv", "variable",
              "value\n\"\"\nplain\ncomma, semicolon;\n\"say \"\"x\"\"\"\n\"line\nbreak\"\n\"tab\there\"\n"
              "\"cr\r\"\n\u00e4\u20ac\U0001f600\n");
  expect_text("ndjson", "variable",
              R"({"value":""}
{"value":"plain"}
{"value":"comma, semicolon;"}
{"value":"say \"x\""}
{"value":"line\nbreak"}
{"value":"tab\there"}
{"value":"cr\r"}
)"
              "{\"value\":\"\u00e4\u20ac\U0001f600\"}\n");
  using namespace std::string_view_literals;
  expect_text("csv", "fixed", "value\nab\n\"a,\"\"b\"\n\"\"\nabcd\na\0b\n"sv);
  expect_text("ndjson", "fixed",
              R"({"value":"ab"}
{"value":"a,\"b"}
{"value":""}
{"value":"abcd"}
{"value":"a\u0000b"}
)");
  expect_text("csv", "not_utf8", "value\n\xff\nok\n");
  expect_text("ndjson", "not_utf8", "{\"value\":\"\\udcff\"}\n{\"value\":\"ok\"}\n");
}

TEST(TableViews, EnumerationsAreTheirNames) {
  expect_text("csv", "enumeration", "value\nRED\n\"say \"\"x\"\"\"\n\"a,b\"\n5\n");
  expect_text("tsv", "enumeration", "value\nRED\n\"say \"\"x\"\"\"\na,b\n5\n");
  // The longest literal is "say \"x\"" with its quotes.
  expect_text("ndjson", "enumeration",
              "{\"value\":\"RED\"      }\n{\"value\":\"say \\\"x\\\"\"}\n{\"value\":\"a,b\"      }\n"
              "{\"value\":5          }\n");
  expect_text("csv", "booleans", "value\nTRUE\nFALSE\nTRUE\nTRUE\nFALSE\nFALSE\nTRUE\nFALSE\nTRUE\n");
  expect_text("text", "enumeration", "RED\nsay \"x\"\na,b\n5\n");
}

TEST(TableViews, ComplexNumbersBytesAndSequences) {
  expect_text("csv", "complex", "value\n1+2j\n-0-0.5j\nnan+infj\n");
  expect_text("csv", "opaque", "value\n0x000102\n0x616263\n0xfffefd\n");
  expect_text("csv", "sequences", "value\n\"[1,-2]\"\n[]\n[3]\n");
  expect_text("ndjson", "sequences", "{\"value\":[1,-2]}\n{\"value\":[]}\n{\"value\":[3]}\n");
  expect_text("text", "sequences", "[1,-2]\n[]\n[3]\n");
}

TEST(TableViews, ColumnsOfTheSecondDimensionAndOfArrays) {
  expect_text("csv", "matrix", "0,1,2\n0,1000,2000\n3000,4000,5000\n");
  expect_text("tsv", "matrix", "0\t1\t2\n0\t1000\t2000\n3000\t4000\t5000\n");
  expect_text("ndjson", "matrix",
              "{\"0\":0     ,\"1\":1000  ,\"2\":2000  }\n{\"0\":3000  ,\"1\":4000  ,\"2\":5000  }\n");
  expect_text("text", "matrix", "0 1000 2000\n3000 4000 5000\n");
  expect_text("csv", "arrays", "value.0,value.1,value.2\n1,2,3\n-1,-2,-3\n");
}

TEST(TableViews, ColumnsOfMembers) {
  const std::string header = "id,p.x,p.y,v.0,v.1,name\n", second = "4294967294,-1,1.5,1,-127,\"\"\n";
  expect_text("csv", "table",
              header + "4294967295,0,0.5,0,-128,one\n" + second + "4294967293,-2,2.5,2,-126,\"a,b\"\n");
  expect_text("csv", "one_row", header + second);
  expect_text("ndjson", "one_row",
              "{\"id\":4294967294,\"p.x\":-1,\"p.y\":1.5,\"v.0\":1,\"v.1\":-127,\"name\":\"\"}\n");
  expect_text("csv", "odd_names", "\"a,b\",\"say \"\"x\"\"\",\"new\nline\",tab\t,\u00e4\\\n1,2,3,4,5\n");
  expect_text("tsv", "odd_names",
              "a,b\t\"say \"\"x\"\"\"\t\"new\nline\"\t\"tab\t\"\t\u00e4\\\n1\t2\t3\t4\t5\n");
  expect_text(
      "ndjson", "odd_names",
      "{\"a,b\":1   ,\"say \\\"x\\\"\":2   ,\"new\\nline\":3   ,\"tab\\t\":4   ,\"\u00e4\\\\\":5   }\n");
}

TEST(TableViews, TablesWithoutRowsAreTheirHeader) {
  expect_text("csv", "no_rows", "value\n");
  expect_text("tsv", "no_rows", "value\n");
  expect_text("ndjson", "no_rows", "");
  expect_text("text", "no_rows", "");
}

TEST(TableViews, WhatIsNoTable) {
  for (const char* view : {"csv", "tsv", "ndjson"}) {
    EXPECT_EQ(every_type().unfit(view, "scalar"), "a scalar");
    EXPECT_EQ(every_type().unfit(view, "nothing"), "a null dataspace has no rows");
    EXPECT_NE(every_type().unfit(view, "no_columns"), "");
  }
}

}  // namespace
}  // namespace h5mount::test

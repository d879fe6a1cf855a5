// NumPy's dates; the texts are those of numpy.datetime_as_string, with six or nine digits of a second.
#include "../../src/text/numpy_form.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace h5mount::text {
namespace {

constexpr std::int64_t kNotATime = std::numeric_limits<std::int64_t>::min();

// The text, or "no date".
std::string date(const char* tag, std::int64_t value) {
  format::Datatype type;
  type.cls = format::DatatypeClass::Opaque;
  type.size = 8;
  type.tag = tag;
  if (type.tag.starts_with("NUMPY:>"))
    value = static_cast<std::int64_t>(__builtin_bswap64(static_cast<std::uint64_t>(value)));
  std::vector<std::byte> element(8);
  std::memcpy(element.data(), &value, 8);
  std::string out;
  const bool is_date = append_numpy_date(type, element, out);
  EXPECT_TRUE(is_date || out.empty());
  return is_date ? out : "no date";
}

TEST(NumpyDates, OfEveryUnit) {
  struct Case {
    const char* tag;
    std::int64_t value;
    const char* text;
  };
  constexpr Case kCases[] = {
      {"NUMPY:<M8[D]", 0, "\"1970-01-01T00:00:00\""},
      {"NUMPY:<M8[D]", -1, "\"1969-12-31T00:00:00\""},
      {"NUMPY:<M8[D]", 19'782, "\"2024-02-29T00:00:00\""},
      {"NUMPY:<M8[D]", -719'529, "\"-001-12-31T00:00:00\""},
      {"NUMPY:<M8[h]", -1, "\"1969-12-31T23:00:00\""},
      {"NUMPY:<M8[m]", 61, "\"1970-01-01T01:01:00\""},
      {"NUMPY:<M8[s]", 1'720'000'000, "\"2024-07-03T09:46:40\""},
      {"NUMPY:>M8[s]", 1'720'000'000, "\"2024-07-03T09:46:40\""},
      {"NUMPY:<M8[ms]", 1'720'000'000'250, "\"2024-07-03T09:46:40.250000\""},
      {"NUMPY:<M8[ms]", -1, "\"1969-12-31T23:59:59.999000\""},
      {"NUMPY:<M8[us]", -1, "\"1969-12-31T23:59:59.999999\""},
      {"NUMPY:<M8[ns]", 1, "\"1970-01-01T00:00:00.000000001\""},
      {"NUMPY:<M8[ns]", std::numeric_limits<std::int64_t>::max(), "\"2262-04-11T23:47:16.854775807\""},
      {"NUMPY:<M8[ns]", kNotATime + 1, "\"1677-09-21T00:12:43.145224193\""},
  };
  for (const Case& one : kCases) EXPECT_EQ(date(one.tag, one.value), one.text) << one.tag << ' ' << one.value;
}

TEST(NumpyDates, NotATimeIsNull) {
  EXPECT_EQ(date("NUMPY:<M8[ns]", kNotATime), "null");
  EXPECT_EQ(date("NUMPY:>M8[D]", kNotATime), "null");
}

TEST(NumpyDates, WhatIsNoneIsLeftAlone) {
  EXPECT_EQ(date("NUMPY:<m8[s]", 5), "no date");
  EXPECT_EQ(date("NUMPY:<M8[Y]", 5), "no date");
  EXPECT_EQ(date("NUMPY:<M8[s", 5), "no date");
  EXPECT_EQ(date("NUMPY:<M8", 5), "no date");
  EXPECT_EQ(date("", 5), "no date");
  // Beyond the calendar, and where seconds do not fit.
  EXPECT_EQ(date("NUMPY:<M8[D]", 12'000'000), "no date");
  EXPECT_EQ(date("NUMPY:<M8[D]", std::numeric_limits<std::int64_t>::max()), "no date");
  EXPECT_EQ(date("NUMPY:<M8[s]", std::numeric_limits<std::int64_t>::max()), "no date");
}

}  // namespace
}  // namespace h5mount::text

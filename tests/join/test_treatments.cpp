// What a plan does to elements: times against Python's fractions and against the definition of rounding,
// packed numbers bit for bit, fill values.
#include "treatments.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "exact_times.h"
#include "h5mount/dataset/converted_dataset.h"
#include "h5mount/dataset/open_dataset.h"
#include "rebase_cases.h"

namespace h5mount::test {
namespace {

using dataset::DatasetReaderPtr;
using dataset::float_type;
using dataset::integer_type;
using format::ByteOrder;
using join::ExactTimes;
using join::Treatment;
using meaning::NumberKind;
using meaning::TimeUnits;

constexpr std::int64_t kSecond = 1'000'000, kHour = 3600 * kSecond, kDay = 24 * kHour;

TimeUnits units(std::int64_t unit, std::int64_t day, std::int64_t microsecond = 0) {
  return {.unit = unit, .epoch_day = day, .epoch_microsecond = microsecond};
}

template <class Number>
DatasetReaderPtr holding(const format::DatatypePtr& type, const std::vector<Number>& numbers) {
  object::DatasetDescription d;
  d.type = type;
  d.element_size = type->size;
  d.image_bytes = numbers.size() * sizeof(Number);
  d.space.kind = format::DataspaceKind::Simple;
  d.space.dims = d.space.max_dims = {d.image_bytes / type->size};
  d.layout.cls = format::LayoutClass::Compact;
  const auto bytes = std::as_bytes(std::span(numbers));
  d.layout.compact_data.assign(bytes.begin(), bytes.end());
  return *dataset::open_dataset(
      {std::make_shared<cache::BlockCache>(1U << 20), std::make_shared<cache::WorkerPool>(1), nullptr},
      nullptr, d);
}

template <class Number>
Result<std::vector<Number>> elements(const Result<DatasetReaderPtr>& reader) {
  if (!reader) return fail(reader.error());
  EXPECT_EQ((*reader)->description().element_size, sizeof(Number));
  std::vector<Number> out((*reader)->size() / sizeof(Number));
  H5_TRY((*reader)->read_into(0, std::as_writable_bytes(std::span(out)), Unbounded()));
  return out;
}

// ---- times

TEST(Treatments, TimesAreRoundedOnceAsFractionsAre) {
  for (const RebaseCase& one : kRebaseCases) {
    const ExactTimes times(units(one.from_unit, one.from_day, one.from_microsecond),
                           units(one.to_unit, one.to_day, one.to_microsecond));
    const double value = std::bit_cast<double>(one.value);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(times.rebased(value)), one.expected)
        << value << ": " << times.rebased(value) << " for " << std::bit_cast<double>(one.expected);
  }
}

// Whether `result` is n / d rounded to the nearest double, the even one of two: for quotients of 2^-30 to
// 2^40.
__extension__ using Wide = __int128;
bool is_nearest(Wide n, Wide d, double result) {
  if (n == 0) return result == 0 && !std::signbit(result);
  int exponent = 0;
  const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(std::fabs(result), &exponent), 53));
  exponent -= 53;  // |result| = mantissa * 2^exponent
  if (std::signbit(result) != (n < 0)) return false;
  n = n < 0 ? -n : n;
  // |n / d - result| <= 2^exponent / 2, times 2 d 2^-exponent
  if (exponent > 0) d <<= exponent;
  if (exponent < 0) n <<= -exponent;
  const Wide error = 2 * (n - mantissa * d);
  const Wide magnitude = error < 0 ? -error : error;
  return magnitude < d || (magnitude == d && mantissa % 2 == 0);
}

TEST(Treatments, TimesAreTheNearestDoubles) {
  std::mt19937_64 random(3);
  const auto some = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % (2 * most + 1)) - most;
  };
  for (int i = 0; i < 200'000; ++i) {
    const std::int64_t from = std::array{kSecond, 60 * kSecond, kHour, kDay}[random() % 4];
    const std::int64_t to = std::array{kSecond, 60 * kSecond, kHour, kDay}[random() % 4];
    const std::int64_t days = some(40'000), microseconds = random() % 2 == 0 ? 0 : some(kDay);
    const ExactTimes times(units(from, days, microseconds), units(to, 0));
    const std::int64_t numerator = some(random() % 2 == 0 ? 1'000'000 : std::int64_t{1} << 40);
    const int fraction = static_cast<int>(random() % 24);
    const double value = std::ldexp(static_cast<double>(numerator), -fraction);
    const Wide n = Wide{numerator} * from + ((Wide{days} * kDay + microseconds) << fraction);
    // Without common powers of 2, as `is_nearest` has no room for them.
    Wide d = Wide{to} << fraction, m = n;
    while (m != 0 && m % 2 == 0 && d % 2 == 0) m /= 2, d /= 2;
    const double result = times.rebased(value);
    int exponent = 0;
    (void)std::frexp(result, &exponent);
    if (exponent < -5 && result != 0) continue;  // no room either
    ASSERT_TRUE(is_nearest(m, d, result)) << value << ' ' << result;
    if (fraction == 0) ASSERT_EQ(result, times.rebased(numerator));
  }
}

TEST(Treatments, WhatIsNoNumberStays) {
  const ExactTimes times(units(kHour, 10), units(kDay, 0));
  EXPECT_TRUE(std::isnan(times.rebased(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_EQ(times.rebased(std::numeric_limits<double>::infinity()), std::numeric_limits<double>::infinity());
  EXPECT_EQ(times.rebased(-std::numeric_limits<double>::infinity()),
            -std::numeric_limits<double>::infinity());
  EXPECT_FALSE(std::signbit(ExactTimes(units(kHour, 0), units(kDay, 0)).rebased(-0.0)));
}

TEST(Treatments, WholeTimesStayWholeOrFail) {
  Treatment treatment;
  treatment.rebase =
      Treatment::Rebase{units(kHour, 0), units(kDay, -2), true, {static_cast<std::uint64_t>(-999)}};
  const auto i16 = integer_type(2, true, ByteOrder::Little);
  const auto i64 = integer_type(8, true, ByteOrder::Little);
  EXPECT_EQ(
      *elements<std::int64_t>(join::treated(holding<std::int16_t>(i16, {0, 48, -999, -72}), treatment, i64)),
      (std::vector<std::int64_t>{2, 4, -999, -1}));
  const auto failed =
      elements<std::int64_t>(join::treated(holding<std::int16_t>(i16, {0, 54}), treatment, i64));
  ASSERT_FALSE(failed);
  EXPECT_EQ(to_errno(failed.error().code()), EIO);
  EXPECT_NE(failed.error().text().find("54"), std::string::npos) << failed.error().text();
  treatment.rebase = Treatment::Rebase{units(kDay, 1), units(kSecond, 0), true, {}};
  const auto u64 = integer_type(8, false, ByteOrder::Little);
  const std::uint64_t most = (std::uint64_t{1} << 63) / 86400 - 1;
  EXPECT_EQ(*elements<std::int64_t>(join::treated(holding<std::uint64_t>(u64, {most - 1}), treatment, i64)),
            (std::vector{static_cast<std::int64_t>(most * 86400)}));
  EXPECT_FALSE(
      elements<std::int64_t>(join::treated(holding<std::uint64_t>(u64, {most + 1}), treatment, i64)));
  EXPECT_FALSE(elements<std::int64_t>(join::treated(holding<std::uint64_t>(u64, {~0ULL}), treatment, i64)));
  EXPECT_FALSE(join::treated(holding<double>(float_type(8, ByteOrder::Little), {1}), treatment, i64));
}

TEST(Treatments, TimesOfAnyNumbersBecomeDoubles) {
  Treatment treatment;
  treatment.rebase = Treatment::Rebase{units(kHour, 1), units(kDay, 0), false, {}};
  const auto f64 = float_type(8, ByteOrder::Little);
  const auto expect = [&](const DatasetReaderPtr& from, const std::vector<double>& expected) {
    EXPECT_EQ(*elements<double>(join::treated(from, treatment, f64)), expected);
  };
  expect(holding<std::uint16_t>(integer_type(2, true, ByteOrder::Big),
                                {std::byteswap<std::uint16_t>(54), std::byteswap<std::uint16_t>(0xFFFA)}),
         {3.25, 0.75});
  expect(holding<float>(float_type(4, ByteOrder::Little), {1.5F, -24}), {1.0625, 0});
  expect(holding<std::uint64_t>(float_type(8, ByteOrder::Big),
                                {std::byteswap(std::bit_cast<std::uint64_t>(0.1))}),
         {(0.1L + 24) / 24});
  treatment.rebase->keeps = {std::bit_cast<std::uint64_t>(-1e20)};
  expect(holding<double>(f64, {-1e20, 24}), {-1e20, 2});
  EXPECT_FALSE(
      join::treated(holding<char>(integer_type(3, true, ByteOrder::Little), {1, 2, 3}), treatment, f64));
  treatment.rebase->to.unit = 0;
  EXPECT_FALSE(join::treated(holding<double>(f64, {1}), treatment, f64));
}

// ---- packed numbers

meaning::Packing packing(NumberKind stored, NumberKind shown) {
  meaning::Packing out;
  out.stored = {stored, false};
  out.read_as = stored;
  out.shown = shown;
  return out;
}

TEST(Treatments, EachStepOfUnpackingIsRoundedInItsType) {
  std::vector<std::int16_t> stored(65536);
  for (std::size_t i = 0; i < stored.size(); ++i) stored[i] = static_cast<std::int16_t>(i);
  const auto i16 = integer_type(2, true, ByteOrder::Little);
  Treatment treatment;
  treatment.unpack = packing(NumberKind::I16, NumberKind::F32);
  treatment.unpack->scale = static_cast<double>(0.0017F);
  treatment.unpack->offset = static_cast<double>(273.15F);
  treatment.unpack->fills = {static_cast<std::uint64_t>(-32767)};
  const auto singles =
      elements<float>(join::treated(holding(i16, stored), treatment, float_type(4, ByteOrder::Little)));
  treatment.unpack->shown = NumberKind::F64;
  treatment.unpack->scale = 0.0017;
  treatment.unpack->offset.reset();
  const auto doubles =
      elements<double>(join::treated(holding(i16, stored), treatment, float_type(8, ByteOrder::Little)));
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (stored[i] == -32767) {
      EXPECT_TRUE(std::isnan((*singles)[i]) && std::isnan((*doubles)[i]));
      continue;
    }
    const volatile float product = static_cast<float>(stored[i]) * 0.0017F;
    const volatile float sum = product + 273.15F;
    ASSERT_EQ(std::bit_cast<std::uint32_t>((*singles)[i]), std::bit_cast<std::uint32_t>(float{sum}));
    const volatile double wide = static_cast<double>(stored[i]) * 0.0017;
    ASSERT_EQ(std::bit_cast<std::uint64_t>((*doubles)[i]), std::bit_cast<std::uint64_t>(double{wide}));
  }
}

TEST(Treatments, NumbersThatAreNotScaledBecomeFloatsWithNaN) {
  Treatment treatment;
  treatment.unpack = packing(NumberKind::U8, NumberKind::F64);
  treatment.unpack->fills = {255};
  const auto f64 = float_type(8, ByteOrder::Little);
  const auto found = elements<double>(join::treated(
      holding<std::uint8_t>(integer_type(1, false, ByteOrder::Little), {0, 255, 254}), treatment, f64));
  EXPECT_EQ((*found)[0], 0);
  EXPECT_TRUE(std::isnan((*found)[1]));
  EXPECT_EQ((*found)[2], 254);
  treatment.unpack = packing(NumberKind::F32, NumberKind::F64);
  treatment.unpack->fills = {std::bit_cast<std::uint64_t>(-9.0)};
  const auto floats = elements<double>(
      join::treated(holding<float>(float_type(4, ByteOrder::Little), {0.1F, -0.0F, -9}), treatment, f64));
  EXPECT_EQ((*floats)[0], static_cast<double>(0.1F));
  EXPECT_TRUE((*floats)[1] == 0 && std::signbit((*floats)[1]));
  EXPECT_TRUE(std::isnan((*floats)[2]));
}

TEST(Treatments, APackingOfOtherElementsIsRefused) {
  Treatment treatment;
  treatment.unpack = packing(NumberKind::I16, NumberKind::F64);
  const auto f64 = float_type(8, ByteOrder::Little);
  EXPECT_FALSE(join::treated(holding<float>(float_type(4, ByteOrder::Little), {1}), treatment, f64));
  EXPECT_FALSE(
      join::treated(holding<std::int16_t>(integer_type(2, true, ByteOrder::Big), {1}), treatment, f64));
  treatment.unpack->shown = NumberKind::I64;
  EXPECT_FALSE(
      join::treated(holding<std::int16_t>(integer_type(2, true, ByteOrder::Little), {1}), treatment, f64));
}

// ---- fill values

TEST(Treatments, AFillValueBecomesThatOfTheJoinedDataset) {
  const auto f32 = float_type(4, ByteOrder::Little), f64 = float_type(8, ByteOrder::Little);
  Treatment treatment;
  treatment.fill = Treatment::Fill{std::bit_cast<std::uint64_t>(static_cast<double>(-9.9F)),
                                   std::bit_cast<std::uint64_t>(-999.9)};
  EXPECT_EQ(*elements<double>(join::treated(holding<float>(f32, {1.5F, -9.9F}), treatment, f64)),
            (std::vector{1.5, -999.9}))
      << "in the joined type, where it is exact";
  const auto failed = elements<double>(join::treated(holding<double>(f64, {1, 2, -999.9}), treatment, f64));
  ASSERT_FALSE(failed);
  EXPECT_EQ(to_errno(failed.error().code()), EIO);
  EXPECT_NE(failed.error().text().find("-999.9"), std::string::npos) << failed.error().text();
  const auto reader = join::treated(holding<double>(f64, {1, 2, -999.9, 4}), treatment, f64);
  std::vector<double> good(2);
  EXPECT_TRUE((*reader)->read_into(0, std::as_writable_bytes(std::span(good)), Unbounded()))
      << "others are not harmed";
  treatment.fill->own.reset();
  EXPECT_TRUE(elements<double>(join::treated(holding<double>(f64, {1, 2}), treatment, f64)));
  EXPECT_FALSE(elements<double>(join::treated(holding<double>(f64, {-999.9}), treatment, f64)));
}

TEST(Treatments, NaNIsMissingInEveryFile) {
  const auto f32 = float_type(4, ByteOrder::Little);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Treatment treatment;
  treatment.fill =
      Treatment::Fill{std::bit_cast<std::uint64_t>(-9.0), std::bit_cast<std::uint64_t>(std::nan(""))};
  const auto found = elements<float>(join::treated(holding<float>(f32, {1, -9, nan}), treatment, f32));
  EXPECT_TRUE((*found)[0] == 1 && std::isnan((*found)[1]) && std::isnan((*found)[2]));
  treatment.fill =
      Treatment::Fill{std::bit_cast<std::uint64_t>(std::nan("")), std::bit_cast<std::uint64_t>(-9.0)};
  EXPECT_EQ(*elements<float>(join::treated(holding<float>(f32, {1, nan}), treatment, f32)),
            (std::vector<float>{1, -9}));
}

TEST(Treatments, FillsOfIntegersKeepAllTheirBits) {
  const auto i64 = integer_type(8, true, ByteOrder::Little), u64 = integer_type(8, false, ByteOrder::Big);
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  Treatment treatment;
  treatment.fill = Treatment::Fill{static_cast<std::uint64_t>(least), static_cast<std::uint64_t>(least + 1)};
  EXPECT_EQ(
      *elements<std::int64_t>(join::treated(holding<std::int64_t>(i64, {least, least + 2}), treatment, i64)),
      (std::vector{least + 1, least + 2}));
  EXPECT_FALSE(
      elements<std::int64_t>(join::treated(holding<std::int64_t>(i64, {least + 1}), treatment, i64)));
  treatment.fill = Treatment::Fill{~0ULL, ~0ULL - 1};
  EXPECT_EQ(*elements<std::uint64_t>(join::treated(holding<std::uint64_t>(u64, {~0ULL, std::byteswap(5ULL)}),
                                                   treatment, integer_type(8, false, ByteOrder::Little))),
            (std::vector<std::uint64_t>{~0ULL - 1, 5}));
}

TEST(Treatments, NothingToDoIsTheDatasetItself) {
  const auto f64 = float_type(8, ByteOrder::Little);
  const auto dataset = holding<double>(f64, {1});
  EXPECT_EQ(*join::treated(dataset, {}, f64), dataset);
}

TEST(Treatments, UnpackedTimesAreRebased) {
  Treatment treatment;
  treatment.unpack = packing(NumberKind::I16, NumberKind::F64);
  treatment.unpack->scale = 0.5;
  treatment.unpack->fills = {static_cast<std::uint64_t>(-1)};
  treatment.rebase = Treatment::Rebase{units(kHour, 0), units(kDay, 0), false, {}};
  const auto found = elements<double>(
      join::treated(holding<std::int16_t>(integer_type(2, true, ByteOrder::Little), {48, -1, 3}), treatment,
                    float_type(8, ByteOrder::Little)));
  EXPECT_EQ((*found)[0], 1);
  EXPECT_TRUE(std::isnan((*found)[1]));
  EXPECT_EQ((*found)[2], 0.0625);
}

}  // namespace
}  // namespace h5mount::test

// The length of a value's text is within the computed bounds, whatever the type.
#include <gtest/gtest.h>

#include <random>

#include "h5mount/text/text_bounds.h"
#include "h5mount/text/value_text.h"

namespace h5mount::text {
namespace {

format::DatatypePtr share(format::Datatype type) {
  return std::make_shared<const format::Datatype>(std::move(type));
}

format::Datatype of_class(format::DatatypeClass cls, std::uint32_t size) {
  format::Datatype type;
  type.cls = cls;
  type.size = size;
  return type;
}

format::Datatype integer(std::uint32_t size, bool is_signed) {
  format::Datatype type = of_class(format::DatatypeClass::Integer, size);
  type.bit_precision = static_cast<std::uint16_t>(8 * size);
  type.is_signed = is_signed;
  return type;
}

format::Datatype floating(std::uint32_t size, unsigned exponent, unsigned mantissa) {
  format::Datatype type = of_class(format::DatatypeClass::Float, size);
  type.bit_precision = static_cast<std::uint16_t>(8 * size);
  type.normalization = format::MantissaNormalization::Implied;
  type.exponent_size = static_cast<std::uint8_t>(exponent);
  type.exponent_location = type.mantissa_size = static_cast<std::uint8_t>(mantissa);
  type.sign_location = static_cast<std::uint8_t>(exponent + mantissa);
  type.exponent_bias = (1U << (exponent - 1)) - 1;
  return type;
}

std::vector<format::Datatype> types() {
  std::vector<format::Datatype> out;
  for (const std::uint32_t size : {1U, 2U, 4U, 8U, 16U, 100U})
    for (const bool is_signed : {false, true}) out.push_back(integer(size, is_signed));
  out.push_back(floating(2, 5, 10));
  out.push_back(floating(4, 8, 23));
  out.push_back(floating(8, 11, 52));
  out.push_back(floating(16, 15, 112));
  out.push_back(of_class(format::DatatypeClass::Opaque, 7));
  out.push_back(of_class(format::DatatypeClass::Bitfield, 2));
  for (const format::StringPadding padding :
       {format::StringPadding::NullTerminate, format::StringPadding::NullPad,
        format::StringPadding::SpacePad}) {
    out.push_back(of_class(format::DatatypeClass::String, 9));
    out.back().padding = padding;
  }
  format::Datatype named = of_class(format::DatatypeClass::Enum, 1);
  named.base = share(integer(1, true));
  named.enum_members = {{"a rather long name of a member", {std::byte{0}}}, {"", {std::byte{1}}}};
  out.push_back(named);
  format::Datatype complex = of_class(format::DatatypeClass::Complex, 16);
  complex.base = share(floating(8, 11, 52));
  out.push_back(complex);
  format::Datatype array = of_class(format::DatatypeClass::Array, 6 * 4);
  array.base = share(floating(4, 8, 23));
  array.dims = {2, 3};
  out.push_back(array);
  format::Datatype compound = of_class(format::DatatypeClass::Compound, 40);
  compound.members = {{"x", 0, share(integer(4, true))}, {"\n", 8, share(array)}, {"", 32, share(named)}};
  out.push_back(compound);
  return out;
}

class TextBoundsTest : public testing::Test {
 protected:
  void expect_within(const format::Datatype& type, const format::Dataspace& space) {
    const std::size_t bytes = static_cast<std::size_t>(space.element_count().value()) * type.size;
    for (int round = 0; round < 20; ++round) {
      std::vector<std::byte> data(bytes);
      for (std::byte& b : data) {
        const unsigned drawn = static_cast<unsigned>(random_());
        b = round % 3 == 0 ? std::byte{0} : round % 3 == 1 ? std::byte(drawn & 1) : std::byte(drawn);
      }
      const auto text = value_text(type, space, data, ValueContext{{}, Unbounded()});
      ASSERT_TRUE(text) << text.error().text();
      const TextBounds bounds = value_text_bounds(type, space, data);
      EXPECT_LE(bounds.least, text->size()) << datatype_text(type) << ": " << *text;
      EXPECT_GE(bounds.most, text->size()) << datatype_text(type) << ": " << *text;
      EXPECT_EQ(value_text_size(type, space, data, ValueContext{{}, Unbounded()}).value(), text->size());
    }
  }
  std::mt19937 random_{20};
};

TEST_F(TextBoundsTest, HoldForEveryFixedSizeType) {
  const auto simple = [](std::vector<std::uint64_t> dims) {
    return format::Dataspace{
        .kind = format::DataspaceKind::Simple, .dims = dims, .max_dims = dims, .max_below = {}};
  };
  for (const format::Datatype& type : types()) {
    expect_within(type, format::Dataspace{});
    for (const auto& dims : {std::vector<std::uint64_t>{1}, {5}, {2, 3}, {3, 1, 2}, {2, 0}, {0, 2}})
      expect_within(type, simple(dims));
    expect_within(
        type,
        format::Dataspace{.kind = format::DataspaceKind::Null, .dims = {}, .max_dims = {}, .max_below = {}});
  }
}

TEST_F(TextBoundsTest, DecideMostArraysWithoutWritingThem) {
  constexpr std::uint64_t kMax = 65'536;
  const auto bounds = [](const format::Datatype& type, std::uint64_t count) {
    return value_text_bounds(
        type, {.kind = format::DataspaceKind::Simple, .dims = {count}, .max_dims = {count}, .max_below = {}},
        {});
  };
  EXPECT_LE(bounds(integer(4, true), 1000).most, kMax);
  EXPECT_GT(bounds(integer(4, true), 40'000).least, kMax);
  EXPECT_LE(bounds(floating(8, 11, 52), 1000).most, kMax);
  EXPECT_GT(bounds(floating(8, 11, 52), 20'000).least, kMax);
  EXPECT_GT(bounds(integer(8, true), std::uint64_t{1} << 62).least, kMax);
}

TEST_F(TextBoundsTest, VariableStringsClaimTheirLength) {
  format::Datatype type = of_class(format::DatatypeClass::VariableLength, 16);
  type.variable_string = type.has_variable_part = true;
  std::vector<std::byte> element(16);
  element[1] = std::byte{1};  // 256 bytes
  EXPECT_EQ(value_text_bounds(type, format::Dataspace{}, element).most, 256U);
  const format::Dataspace one{
      .kind = format::DataspaceKind::Simple, .dims = {1}, .max_dims = {1}, .max_below = {}};
  EXPECT_GE(value_text_bounds(type, one, element).most, 256U * 6 + 4);
}

}  // namespace
}  // namespace h5mount::text

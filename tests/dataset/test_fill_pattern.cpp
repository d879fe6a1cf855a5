#include "core/fill_pattern.h"

#include <gtest/gtest.h>

namespace h5mount::dataset {
namespace {

std::string gathered(const FillPattern& fill, std::uint64_t offset, std::uint64_t length) {
  Pieces pieces;
  fill.append(offset, length, pieces);
  std::string out;
  for (const Piece& p : pieces.list()) out += as_text(p.bytes);
  std::vector<std::byte> written(length, std::byte{0x55});
  fill.write(offset, written);
  EXPECT_EQ(out, as_text(written));
  return out;
}

TEST(FillPattern, RepeatsTheValueAtEveryPhase) {
  format::FillValue value;
  value.defined = true;
  value.value = {std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
  const FillPattern fill(value, 3);
  EXPECT_EQ(gathered(fill, 0, 7), "abcabca");
  EXPECT_EQ(gathered(fill, 2, 4), "cabc");
  const std::string far = gathered(fill, 3'000'000'001, 200'000);
  for (std::size_t i = 0; i < far.size(); ++i) ASSERT_EQ(far[i], "bca"[i % 3]);
}

TEST(FillPattern, ZerosWhereNoneIsDefined) {
  EXPECT_EQ(gathered(FillPattern(format::FillValue{}, 4), 5, 3), std::string(3, '\0'));
  format::FillValue empty;
  empty.defined = true;
  EXPECT_EQ(gathered(FillPattern(empty, 4), 0, 3'000'000), std::string(3'000'000, '\0'));
}

}  // namespace
}  // namespace h5mount::dataset

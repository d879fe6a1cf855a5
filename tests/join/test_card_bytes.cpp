// Cards as bytes, cards of all files that tests have, and what a card costs.
#include <chrono>
#include <cstdio>
#include <random>
#include <set>

#include "card_files.h"
#include "cards/card_codec.h"
#include "support/corpus.h"
#include "support/sanitized.h"

namespace h5mount::join {
namespace {

using Clock = std::chrono::steady_clock;

const std::vector<std::byte>& rich_file() {
  static const auto file = test::written_by_program("join/fixtures/rich.py");
  return file;
}

TEST(CardBytes, GiveTheCardBack) {
  CardMaker maker(axis_named("x")), other(axis_named("x"));
  const FileCardPtr card = card_of(maker, rich_file());
  ASSERT_FALSE(card->error);
  const auto bytes = maker.encode(*card);
  for (CardMaker* const by : {&maker, &other}) {
    const auto back = by->decode(bytes);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(by->encode(**back), bytes);
    EXPECT_EQ((*back)->path, card->path);
    EXPECT_EQ((*back)->stamp, card->stamp);
    ASSERT_EQ((*back)->members.size(), card->members.size());
    EXPECT_EQ((*back)->axes.at(0).last, card->axes[0].last);
    const MemberCard &a = member(card, "g/p"), &b = member(*back, "g/p");
    EXPECT_EQ(a.packing->scale, b.packing->scale);
    EXPECT_EQ(a.packing->most, b.packing->most);
    EXPECT_EQ(a.fill, b.fill);
    EXPECT_EQ(a.scales, b.scales);
    EXPECT_EQ(text::datatype_text(*member(card, "c").type), text::datatype_text(*member(*back, "c").type));
    EXPECT_TRUE(member(*back, "q").type->has_variable_part && member(*back, "r").type->has_reference);
    if (by == &maker)
      EXPECT_EQ((*back)->members, card->members) << "remembered members are those that are there";
  }
  FileCard failed;
  failed.path = "bad.h5";
  failed.error = Error(ErrorCode::BadSignature, "not an HDF5 file");
  const auto back = maker.decode(maker.encode(failed));
  ASSERT_TRUE(back);
  EXPECT_EQ((*back)->error->code(), ErrorCode::BadSignature);
  EXPECT_EQ((*back)->error->text(), failed.error->text());
}

TEST(CardBytes, OfAnotherAxisAreRefused) {
  CardMaker maker(axis_named("x"));
  const auto bytes = maker.encode(*card_of(maker, rich_file()));
  for (const std::string_view axis : {"y", "+x", "x:%Y", ":0", "union"}) {
    CardMaker other(axis_named(axis));
    const auto back = other.decode(bytes);
    ASSERT_FALSE(back);
    EXPECT_EQ(back.error().code(), ErrorCode::InvalidValue);
  }
  EXPECT_FALSE(maker.decode({}));
}

// The sum of a card's bytes refuses nearly all damage. Members are decoded without it, as by one who knows
// how to make the sum.
TEST(CardBytes, DamagedOnesAreRefusedOrSound) {
  CardMaker maker(axis_named("x"));
  const FileCardPtr card = card_of(maker, rich_file());
  const auto whole = maker.encode(*card);
  std::mt19937_64 random(1);
  const auto damaged = [&](std::vector<std::byte> bytes) {
    for (std::uint64_t changes = 1 + random() % 3; changes > 0 && !bytes.empty(); --changes) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] ^= std::byte{static_cast<std::uint8_t>(1U << random() % 8)};
          break;
        case 1:
          bytes[at] = std::byte{static_cast<std::uint8_t>(random())};
          break;
        case 2:
          bytes.resize(at);
          break;
        default:
          bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::byte{0xFF});
      }
    }
    return bytes;
  };
  for (int i = 0; i < 5'000; ++i) {
    const auto bytes = damaged(whole);
    if (bytes != whole) EXPECT_FALSE(maker.decode(bytes));
  }
  std::vector<std::vector<std::byte>> members;
  for (const MemberCardPtr& one : card->members) members.push_back(encode_member(*one));
  unsigned sound = 0;
  for (int i = 0; i < 40'000; ++i) {
    const auto back = decode_member(damaged(members[random() % members.size()]));
    if (!back) continue;
    ++sound;
    if (back->type) (void)text::datatype_text(*back->type);
    if (back->packing) (void)meaning::elements_of(*back->packing);
    const auto again = decode_member(encode_member(*back));
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(encode_member(*again), encode_member(*back));
  }
  EXPECT_GT(sound, 1'000U);
}

// ---- all files

TEST(CardBytes, CardsOfAllFilesAreMadeSoon) {
  H5MOUNT_NEEDS_CORPUS();
  const auto most = std::chrono::seconds(test::kSanitized ? 20 : 2);
  unsigned made = 0, failed = 0;
  for (const std::string_view axis : {"time", "union"}) {
    CardMaker maker(axis_named(axis));
    for (const auto& corpus : test::corpora())
      for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus)) {
        const std::string name = entry.path().filename();
        if (!entry.is_regular_file() || entry.file_size() > (256U << 20) || !name.contains(".")) continue;
        if (name.ends_with(".json") || name.ends_with(".b2frame") || name.ends_with(".b2nd")) continue;
        auto files =
            object::FileSet::open(entry.path(), object::ExternalAccess(object::ExternalPolicy::Beneath),
                                  metadata::MetadataOptions{});
        if (!files) continue;
        FileCard card;
        card.path = name;
        RequestBudget budget;
        const auto begun = Clock::now();
        const auto result = maker.make(environment_of(*files), card, budget);
        EXPECT_LT(Clock::now() - begun, most) << entry.path();
        if (!result) {
          ADD_FAILURE() << entry.path() << ": " << result.error().text();
          continue;
        }
        ++((*result)->error ? failed : made);
        const auto bytes = maker.encode(**result);
        const auto back = maker.decode(bytes);
        ASSERT_TRUE(back) << entry.path();
        EXPECT_EQ(maker.encode(**back), bytes) << entry.path();
      }
  }
  EXPECT_GT(made, 20U);
  std::printf("cards: %u, of damaged files: %u\n", made, failed);
}

// ---- cost

TEST(CardBytes, ACardCostsLessThanAMillisecond) {
  const auto bytes = netcdf_file(R"(
d.createDimension('time', None); d.createDimension('lat', 19); d.createDimension('lon', 36)
t = d.createVariable('time', 'i4', ('time',)); t.units = 'hours since 1900-01-01'; t[:] = range(24)
la = d.createVariable('lat', 'f4', ('lat',)); la.units = 'degrees_north'; la[:] = range(19)
lo = d.createVariable('lon', 'f4', ('lon',)); lo.units = 'degrees_east'; lo[:] = range(36)
for i in range(10):
  v = d.createVariable('v%d' % i, 'i2', ('time', 'lat', 'lon'), zlib=True, fill_value=-32767)
  v.scale_factor = 0.1; v.add_offset = 250.0; v.units = 'K'; v.long_name = 'variable number %d' % i
  v.standard_name = 'air_temperature'; v.cell_methods = 'time: mean'
d.title = 'a'; d.history = 'b' * 100; d.Conventions = 'CF-1.8'
)");
  CardMaker maker(axis_named("time"));
  const int rounds = 300;
  std::vector<FileCardPtr> cards;
  const auto begun = Clock::now();
  for (int i = 0; i < rounds; ++i) cards.push_back(card_of(maker, bytes));
  const std::chrono::duration<double, std::micro> making = Clock::now() - begun;
  const auto stored = maker.encode(*cards[0]);
  const auto decoding_begun = Clock::now();
  for (int i = 0; i < rounds; ++i) ASSERT_TRUE(maker.decode(stored));
  const std::chrono::duration<double, std::micro> decoding = Clock::now() - decoding_begun;
  std::printf("opened and made: %.0f us, decoded: %.1f us, %zu bytes\n", making.count() / rounds,
              decoding.count() / rounds, stored.size());
  std::set<const MemberCard*> different;
  for (const FileCardPtr& card : cards)
    for (const MemberCardPtr& one : card->members) different.insert(one.get());
  EXPECT_EQ(different.size(), cards[0]->members.size());
  if (!test::kSanitized) EXPECT_LT(making.count() / rounds, 10'000) << "ten times the goal";
}

}  // namespace
}  // namespace h5mount::join

// Pickles: those of Python by protocol, and any bytes.
#include <gtest/gtest.h>

#include <random>

#include "../../src/meaning/pandas/pickled_names.h"

namespace h5mount::test {
namespace {

using meaning::Pickled;
using namespace std::literals;

std::optional<Pickled> read_pickle(std::string_view bytes) {
  return Pickled::read({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
}

std::string name_of_pickle(std::string_view bytes) {
  const auto read = read_pickle(bytes);
  return read ? read->name(read->root()).value_or("no name") : "not readable";
}

// pickle.dumps(value, protocol) of ["a", "é", 1, -5, 2.0, True, None, ("b", 300)].
constexpr std::array kLists = {
    "(lp0\nVa\np1\naV\xe9\np2\naI1\naI-5\naF2.0\naI01\naN"
    "a(Vb\np3\nI300\ntp4\na."sv,
    "\x80\x02]q\0(X\x01\0\0\0aq\x01X\x02\0\0\0\xc3\xa9q\x02K\x01J\xfb\xff\xff\xff"
    "G@\0\0\0\0\0\0\0\x88NX\x01\0\0\0"
    "bq\x03M,\x01\x86q\x04"
    "e."sv,
    "\x80\x04\x95,\0\0\0\0\0\0\0]\x94(\x8c\x01"
    "a\x94\x8c\x02\xc3\xa9\x94K\x01J\xfb\xff\xff\xffG@\0\0\0\0\0\0\0\x88N\x8c\x01"
    "b\x94M,\x01\x86\x94"
    "e."sv,
};

// {"index": {"freq": <Day>, "tz": "UTC", "index_name": "when"}} of protocol 0.
constexpr std::string_view kInfo =
    "(dp0\nVindex\np1\n(dp2\nVfreq\np3\ncpandas._libs.tslibs.offsets\nDay\np4\n(I1\nI00\ntp5\nRp6\nsVtz\np7\n"
    "VUTC\np8\nsVindex_name\np9\nVwhen\np10\nss.";

TEST(PickledNames, EveryProtocolIsRead) {
  for (const std::string_view pickle : kLists)
    EXPECT_EQ(name_of_pickle(pickle), "['a', 'é', 1, -5, 2.0, True, None, ('b', 300)]");
  EXPECT_EQ(name_of_pickle("V\\u65e5\\U0001d11e\\\np0\n."), "日𝄞\\");
  EXPECT_EQ(name_of_pickle("(Vit's\np0\ntp1\n."), "(\"it's\",)");
  EXPECT_EQ(name_of_pickle("L12345678901234567890L\n."), "12345678901234567890");
  EXPECT_EQ(name_of_pickle("\x80\x03\x8a\x09\0\0\0\0\0\0\0\x80\0."sv), "not readable");
}

TEST(PickledNames, ObjectsStandForThemselves) {
  const auto info = read_pickle(kInfo);
  ASSERT_TRUE(info);
  const auto* const index = info->find(info->root(), "index");
  ASSERT_NE(index, nullptr);
  EXPECT_EQ(info->name(*info->find(*index, "index_name")), "when");
  EXPECT_EQ(info->find(*index, "freq")->text, "pandas._libs.tslibs.offsets.Day");
  EXPECT_EQ(info->name(*info->find(*index, "freq")), std::nullopt);
  EXPECT_EQ(name_of_pickle("cos\nsystem\n(Vtrue\ntR."), "no name");
}

TEST(PickledNames, CirclesAndMuchOfOneValueEnd) {
  EXPECT_EQ(name_of_pickle("(lp0\ng0\na."), "no name");
  std::string doubled = "Vx\n";
  for (int i = 0; i < 60; ++i) doubled += "2\x86";
  EXPECT_EQ(name_of_pickle(doubled + "."), "no name");
  std::string classes = "c" + std::string(60'000, 'm') + "\nn\np0\n";
  for (int i = 0; i < 12'000; ++i) classes += "g0\nN\x81";
  EXPECT_TRUE(read_pickle(classes + "."));
  EXPECT_EQ(name_of_pickle(std::string(200'000, 'N') + "."), "not readable");
}

TEST(PickledNames, CutAndFlippedPicklesAreReadOrNot) {
  std::vector<std::string> pickles(kLists.begin(), kLists.end());
  pickles.emplace_back(kInfo);
  std::mt19937 random(1);
  std::size_t readable = 0;
  const auto look = [&](const std::string& bytes) {
    const auto read = read_pickle(bytes);
    if (!read) return;
    ++readable;
    (void)read->name(read->root());
    for (const auto* const item : read->items(read->root())) (void)read->name(*item);
    (void)read->find(read->root(), "index");
  };
  for (const std::string& pickle : pickles) {
    for (std::size_t i = 0; i <= pickle.size(); ++i) {
      look(pickle.substr(0, i));
      look(pickle.substr(0, i) + ".");
      look(pickle.substr(i));
    }
    for (int round = 0; round < 20'000; ++round) {
      std::string changed = pickle;
      for (unsigned flips = 1 + random() % 4; flips > 0; --flips)
        changed[random() % changed.size()] = static_cast<char>(random());
      look(changed);
    }
  }
  EXPECT_GT(readable, 1000U);
}

}  // namespace
}  // namespace h5mount::test

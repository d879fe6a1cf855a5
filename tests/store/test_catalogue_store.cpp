// What the store of a catalogue's rows gives back.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "h5mount/store/catalogue_store.h"

namespace h5mount::store {
namespace {

using tree::CatalogueRow;
using tree::CatalogueStore;

class CatalogueStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/h5mount-store-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    place = name;
  }
  void TearDown() override { std::filesystem::remove_all(place); }

  std::shared_ptr<CatalogueStore> open(const std::string& maker = "one", const std::string& source = "here",
                                       std::uint64_t most_bytes = kMaxStoreBytes) const {
    auto out = open_catalogue_store(place + "/store", {maker, source, most_bytes});
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    return out ? *out : nullptr;
  }
  static void put(CatalogueStore& store, const CatalogueStore::Key& key,
                  const std::vector<std::string>& values) {
    std::size_t next = 0;
    store.put(key, [&](CatalogueRow& row) -> Result<bool> {
      if (next == values.size()) return false;
      row = {.path = "/" + std::to_string(next), .value = values[next]};
      ++next;
      return true;
    });
  }
  // The values one behind the other; "-": they are not there.
  static std::string get(CatalogueStore& store, const CatalogueStore::Key& key) {
    std::string out;
    const auto found = store.find(key, [&](const CatalogueRow& row) {
      out += row.value;
      return Status{};
    });
    return found && *found ? out : "-";
  }

  std::string place;
};

constexpr CatalogueStore::Key kKey{1, 2, 3};

TEST_F(CatalogueStoreTest, GivesWhatWasPutUnderTheKeyAndNothingElse) {
  const auto store = open();
  EXPECT_EQ(get(*store, kKey), "-");
  put(*store, kKey, {"a", std::string(1U << 19, 'b'), "c"});
  EXPECT_EQ(get(*store, kKey), "a" + std::string(1U << 19, 'b') + "c");
  EXPECT_EQ(get(*open(), kKey), get(*store, kKey));
  for (const CatalogueStore::Key& other : {CatalogueStore::Key{9, 2, 3}, {1, 9, 3}, {1, 2, 9}})
    EXPECT_EQ(get(*store, other), "-");
  EXPECT_EQ(get(*open("two"), kKey), "-");
}

TEST_F(CatalogueStoreTest, ARowComesBackWithAllItsColumns) {
  const auto store = open();
  CatalogueRow all, none;
  for (const tree::CatalogueText& of : tree::kCatalogueTexts)
    all.*of.text = std::string("\xff\0", 2) + of.name + std::string(1U << 20, 'x');
  all.size = 5;
  all.mtime = -7;
  none.path = "/";
  std::size_t next = 0;
  store->put(kKey, [&](CatalogueRow& row) -> Result<bool> {
    row = next == 0 ? all : none;
    return ++next <= 2;
  });
  std::string back;
  const auto found = store->find(kKey, [&](const CatalogueRow& row) {
    back += row_bytes(row);
    return Status{};
  });
  EXPECT_TRUE(found && *found);
  EXPECT_EQ(back, row_bytes(all) + row_bytes(none));
}

TEST_F(CatalogueStoreTest, ADatabaseOfAnotherVersionIsMadeAnew) {
  open();
  const std::string file = place + "/store/catalogue.sqlite";
  constexpr std::streamoff kUserVersion = 60;  // in an SQLite file's header, 4 bytes
  for (const char version : {'\0', '\3'}) {
    put(*open(), kKey, {"a"});
    std::fstream(file, std::ios::binary | std::ios::in | std::ios::out).seekp(kUserVersion + 3).put(version);
    EXPECT_EQ(get(*open(), kKey), "-");
    put(*open(), kKey, {"b"});
    EXPECT_EQ(get(*open(), kKey), "b");
  }
}

TEST_F(CatalogueStoreTest, AnotherStateOfAFileTakesThePlaceOfTheOneBefore) {
  const auto store = open();
  put(*store, kKey, {"a", "b"});
  put(*store, {1, 5, 3}, {"new"});
  EXPECT_EQ(get(*store, kKey), "-");
  EXPECT_EQ(get(*store, {1, 5, 3}), "new");
}

TEST_F(CatalogueStoreTest, WhatWasNotGivenWholeIsNotRemembered) {
  const auto store = open();
  put(*store, kKey, {"before"});
  int rows = 0;
  store->put({1, 7, 3}, [&](CatalogueRow& row) -> Result<bool> {
    row.value = "x";
    if (++rows > 2) return fail({ErrorCode::Io, "trouble"});
    return true;
  });
  EXPECT_EQ(get(*store, {1, 7, 3}), "-");
  EXPECT_EQ(get(*store, kKey), "before");
}

TEST_F(CatalogueStoreTest, AFileThatIsNoDatabaseIsMadeAnewAlsoUnderAnOpenStore) {
  const auto store = open();
  put(*store, kKey, {"a"});
  const std::string file = place + "/store/catalogue.sqlite";
  std::ofstream(file, std::ios::binary | std::ios::trunc) << std::string(10'000, 'x');
  EXPECT_EQ(get(*store, kKey), "-");
  put(*store, kKey, {"b"});
  EXPECT_EQ(get(*store, kKey), "b");
  std::filesystem::remove(file);
  EXPECT_EQ(get(*store, kKey), "-");
  put(*store, kKey, {"c"});
  EXPECT_EQ(get(*open(), kKey), "c");
}

TEST_F(CatalogueStoreTest, TheDirectoryIsOnesOwnAndNobodyElseMayWriteThere) {
  open();
  struct stat st = {};
  ASSERT_EQ(::stat((place + "/store").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777U, 0700U);
  ASSERT_EQ(::stat((place + "/store/catalogue.sqlite").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777U, 0600U);
  for (const unsigned mode : {0720U, 0702U}) {
    ASSERT_EQ(::chmod((place + "/store").c_str(), mode), 0);
    const auto refused = open_catalogue_store(place + "/store", {"one", "here"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::AccessDenied);
  }
  EXPECT_FALSE(open_catalogue_store(place + "/none/store", {"one", "here"}));
  std::filesystem::remove(place + "/store/catalogue.sqlite");
  ASSERT_EQ(::chmod((place + "/store").c_str(), 0700), 0);
  std::filesystem::create_symlink(place + "/elsewhere", place + "/store/catalogue.sqlite");
  EXPECT_FALSE(open_catalogue_store(place + "/store", {"one", "here"}));
  EXPECT_FALSE(std::filesystem::exists(place + "/elsewhere"));
}

TEST_F(CatalogueStoreTest, OthersMayNotPutAnotherDirectoryInItsPlace) {
  std::filesystem::create_directories(place + "/above");
  const std::string below = place + "/above/store";
  for (const unsigned mode : {0770U, 0777U}) {
    ASSERT_EQ(::chmod((place + "/above").c_str(), mode), 0);
    const auto refused = open_catalogue_store(below, {"one", "here"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::AccessDenied);
  }
  for (const unsigned mode : {01777U, 0755U, 0700U}) {
    ASSERT_EQ(::chmod((place + "/above").c_str(), mode), 0);
    EXPECT_TRUE(open_catalogue_store(below, {"one", "here"})) << mode;
  }
}

TEST_F(CatalogueStoreTest, RowsOfFilesThatASourceNoLongerHasAreRemoved) {
  const auto here = open("one", "here"), there = open("one", "there"), older = open("two", "here");
  for (std::uint64_t i = 1; i <= 5; ++i) put(*here, {i, 1, 1}, {"a", "b"});
  put(*there, {6, 1, 1}, {"c"});
  put(*older, {1, 1, 1}, {"d"});
  here->keep_only({2, 4, 9});
  std::string left;
  for (std::uint64_t i = 1; i <= 5; ++i) left += get(*here, {i, 1, 1}) + " ";
  EXPECT_EQ(left, "- ab - ab - ");
  EXPECT_EQ(get(*there, {6, 1, 1}), "c");
  EXPECT_EQ(get(*older, {1, 1, 1}), "d");
}

TEST_F(CatalogueStoreTest, AFullOneDropsWhatIsOfOtherSourcesAndKeepsItsBound) {
  constexpr std::uint64_t kMost = 1U << 20;
  const std::string line(100'000, 'x');
  const auto there = open("one", "there", kMost), here = open("one", "here", kMost);
  for (std::uint64_t i = 1; i <= 20; ++i) put(*there, {i, 1, 1}, {line});
  EXPECT_EQ(get(*there, {1, 1, 1}), line);
  EXPECT_EQ(get(*there, {20, 1, 1}), "-");
  put(*here, {101, 1, 1}, {line});  // finds no place, and makes some
  for (std::uint64_t i = 101; i <= 120; ++i) put(*here, {i, 1, 1}, {line});
  EXPECT_EQ(get(*here, {101, 1, 1}), line);
  EXPECT_EQ(get(*there, {1, 1, 1}), "-");
  EXPECT_LE(std::filesystem::file_size(place + "/store/catalogue.sqlite"), kMost);
  put(*here, {101, 2, 1}, {"short"});  // what it had makes place for what it has now
  EXPECT_EQ(get(*here, {101, 2, 1}), "short");
}

TEST_F(CatalogueStoreTest, ThreadsAndStoresShareADatabase) {
  const auto one = open(), two = open();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      CatalogueStore& store = t % 2 == 0 ? *one : *two;
      for (std::uint64_t i = 0; i < 50; ++i) {
        const CatalogueStore::Key key{i, i, i};
        put(store, key, {std::to_string(i)});
        const std::string got = get(store, key);
        if (got != "-" && got != std::to_string(i)) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(get(*one, {49, 49, 49}), "49");
}

}  // namespace
}  // namespace h5mount::store

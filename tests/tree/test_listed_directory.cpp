// Files that a server lists, as a forest's directory: a server in memory that counts what it is asked.
#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "h5mount/object/file_set.h"
#include "h5mount/tree/forest.h"

namespace h5mount::tree {
namespace {

// Keys as S3 lists them: in their order, with what they have in common up to a '/' told once.
class ListedDirectoryTest : public ::testing::Test {
 protected:
  ForestDirectoryPtr directory(ShownFiles shown = {}) {
    ListedFiles files;
    files.name = "s3://bucket/";
    files.shown = std::move(shown);
    files.list = [this](const std::string& in, const std::string& begin, const std::string& next,
                        unsigned most) { return page(in, begin, next, std::min(most, page_size)); };
    files.open = [this](const std::string& path) -> Result<std::shared_ptr<object::FileSet>> {
      opened = path;
      return fail(Error(ErrorCode::Io, "not here"));
    };
    return make_listed_directory(std::move(files));
  }

  Result<ListedPage> page(const std::string& in, const std::string& begin, const std::string& next,
                          unsigned most) {
    ++requests;
    if (trouble) return fail(*trouble);
    ListedPage out;
    for (const auto& [key, version] : keys) {
      if (!key.starts_with(in + begin)) continue;
      const std::size_t slash = key.find('/', (in + begin).size());
      const std::string name = key.substr(in.size(), slash == std::string::npos ? slash : slash - in.size());
      const std::string place = key.substr(0, slash == std::string::npos ? slash : slash + 1);
      if (!next.empty() && place <= next) continue;
      if (slash != std::string::npos && !out.names.empty() && out.names.back().directory &&
          out.names.back().name == name)
        continue;
      if (out.names.size() == most) {
        out.next = last_place;
        break;
      }
      out.names.push_back({name, slash != std::string::npos, 10, 1000, version});
      last_place = place;
    }
    return out;
  }

  static std::string names_of(const ForestDirectory& of) {
    const auto items = of.list();
    if (!items) return items.error().text();
    std::string out;
    for (const auto& item : items->items) out += item.name + (item.type == NodeType::Directory ? "/ " : " ");
    return out;
  }

  std::map<std::string, std::uint64_t> keys;
  unsigned page_size = 1000, requests = 0;
  std::optional<Error> trouble;
  std::string opened, last_place;
};

TEST_F(ListedDirectoryTest, ShowsFilesOfKnownKindsAndWhatKeysHaveInCommon) {
  keys = {{"a.h5", 1}, {"b.txt", 1}, {"sub/", 1}, {"sub/c.nc", 1}, {"sub/deep/d.h5", 1}, {"z.txt/e.h5", 1}};
  const auto top = directory();
  EXPECT_EQ(names_of(*top), "a.h5/ sub/ z.txt/ ");
  EXPECT_EQ(names_of(**top->enter("sub")), "c.nc/ deep/ ");
  EXPECT_EQ(top->list()->left_out.files, 1U);
  EXPECT_EQ(top->list()->files, 1U);
  EXPECT_EQ(names_of(*directory({.passthrough = true})), "a.h5/ b.txt sub/ z.txt/ ");
  EXPECT_EQ(names_of(*directory({.pattern = "b.*"})), "b.txt/ sub/ z.txt/ ");
  EXPECT_EQ(top->find_entry("b.txt").error().code(), ErrorCode::NotFound);
  (void)(*top->enter("sub"))->open("c.nc");
  EXPECT_EQ(opened, "sub/c.nc");
  EXPECT_EQ(top->find_entry("a.h5")->kind, ForestEntry::Kind::Hdf5);
  EXPECT_EQ(top->find_entry("a.h5")->source.size, 10U);
}

TEST_F(ListedDirectoryTest, PagesAreReadToTheEndOnceForAMinute) {
  for (int i = 0; i < 25; ++i) keys[std::to_string(100 + i) + ".h5"] = 1;
  page_size = 10;
  const auto top = directory();
  EXPECT_EQ(top->list()->items.size(), 25U);
  EXPECT_EQ(requests, 3U);
  for (int i = 0; i < 25; ++i) EXPECT_TRUE(top->find_entry(std::to_string(100 + i) + ".h5"));
  EXPECT_FALSE(top->find_entry("200.h5"));
  EXPECT_EQ(requests, 3U);
}

TEST_F(ListedDirectoryTest, OneNameIsAskedForAloneAndManyTogether) {
  for (int i = 0; i < 3000; ++i) keys["d" + std::to_string(10000 + i) + "/x.h5"] = 1;
  keys["a.h5-more.h5"] = keys["a.h5"] = keys["b.h5/x.h5"] = keys["b.h5-/y.h5"] = 1;
  const auto top = directory();
  EXPECT_EQ(top->find_entry("a.h5")->kind, ForestEntry::Kind::Hdf5);
  EXPECT_EQ(requests, 1U);
  EXPECT_EQ(top->find_entry("b.h5")->kind, ForestEntry::Kind::Directory);
  EXPECT_EQ(requests, 3U);
  EXPECT_FALSE(top->find_entry("a"));
  EXPECT_FALSE(top->find_entry("a"));
  EXPECT_EQ(requests, 4U);
  EXPECT_TRUE(top->find_entry("d10000"));
  EXPECT_TRUE((*top->enter("d10000"))->find_entry("x.h5"));
  EXPECT_EQ(requests, 6U);
  for (int i = 1; i < 3000; ++i) ASSERT_TRUE(top->find_entry("d" + std::to_string(10000 + i)));
  EXPECT_LT(requests, 30U);
}

// However many keys are also what others begin with: each insertion by itself took a hundred seconds.
TEST_F(ListedDirectoryTest, ManyKeysThatAreDirectoriesTooAreListedInTheTimeOfSorting) {
  constexpr int kPairs = 100'000;
  const std::vector<std::string> extra{"k100000.h5 (2)", "k100000.h5 (3)"};
  ListedFiles files;
  files.name = "s3://bucket/";
  files.shown = {.pattern = "k*"};
  bool listed = false;
  files.list = [&](const std::string&, const std::string&, const std::string&,
                   unsigned) -> Result<ListedPage> {
    ListedPage out;
    for (int i = 0; i < kPairs && !listed; ++i) {
      const std::string name = "k" + std::to_string(100'000 + i) + ".h5";
      out.names.push_back({name, true, 0, 0, 0});
      out.names.push_back({name, false, 1, 0, 0});
      out.names.push_back({name, true, 0, 0, 0});  // listed twice
    }
    for (const std::string& name : extra) out.names.push_back({name, false, 1, 0, 0});
    return out;
  };
  const auto top = make_listed_directory(std::move(files));
  const auto begin = std::chrono::steady_clock::now();
  const auto items = top->list();
  ASSERT_TRUE(items) << items.error().text();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_TRUE((*top->enter("k100000.h5 (4)"))->name().ends_with("k100000.h5/"));
  EXPECT_TRUE((*top->enter("k199999.h5 (2)"))->name().ends_with("k199999.h5/"));
  EXPECT_EQ(top->find_entry("k199999.h5")->kind, ForestEntry::Kind::Hdf5);
  EXPECT_FALSE(top->find_entry("k199999.h5 (3)"));
}

TEST_F(ListedDirectoryTest, HostileNamesAreShownAsNamesOfLinksAre) {
  const std::string is_long(900, 'x');
  keys = {{"/a.h5", 1},  {"../../etc/x.h5", 1}, {"./b.h5", 1},
          {"%41.h5", 1}, {is_long + ".h5", 1},  {std::string("n\0l.h5", 6), 1}};
  const auto top = directory();
  const auto items = top->list();
  ASSERT_TRUE(items);
  ASSERT_EQ(items->items.size(), 6U);
  std::map<std::string, int> shown;
  for (const auto& item : items->items) {
    EXPECT_LE(item.name.size(), 255U);
    EXPECT_EQ(item.name.find('/'), std::string::npos);
    EXPECT_TRUE(top->find_entry(item.name)) << item.name;
    EXPECT_TRUE(directory({})->find_entry(item.name)) << item.name << " alone";
    ++shown[item.name];
  }
  for (const char* name : {"%", "%2E%2E", "%2E", "%2541.h5", "n%00l.h5"}) EXPECT_EQ(shown[name], 1) << name;
  EXPECT_EQ(names_of(**(*top->enter("%2E%2E"))->enter("%2E%2E")), "etc/ ");
  (void)(*top->enter("%"))->open("a.h5");
  EXPECT_EQ(opened, "/a.h5");
}

TEST_F(ListedDirectoryTest, AFileKeepsTheNameThatADirectoryHasToo) {
  keys = {{"a.h5", 1}, {"a.h5 (2)", 1}, {"a.h5 (2)/z.h5", 1}, {"a.h5/b.h5", 1}};
  const auto top = directory();
  EXPECT_EQ(top->find_entry("a.h5")->kind, ForestEntry::Kind::Hdf5);
  EXPECT_EQ(names_of(*top), "a.h5/ a.h5 (2)/ a.h5 (3)/ ");
  EXPECT_EQ(names_of(**top->enter("a.h5 (2)")), "z.h5/ ");
  EXPECT_EQ(names_of(**top->enter("a.h5 (3)")), "b.h5/ ");
}

TEST_F(ListedDirectoryTest, AnotherVersionIsAnotherFile) {
  keys = {{"a.h5", 1}};
  const std::uint64_t before = directory()->find_entry("a.h5")->source.identity;
  EXPECT_EQ(directory()->find_entry("a.h5")->source.identity, before);
  keys["a.h5"] = 2;
  EXPECT_NE(directory()->find_entry("a.h5")->source.identity, before);
}

TEST_F(ListedDirectoryTest, ErrorsAreToldAndNotKept) {
  keys = {{"a.h5", 1}};
  const auto top = directory();
  trouble = Error(ErrorCode::AccessDenied, "refused");
  EXPECT_EQ(top->list().error().code(), ErrorCode::AccessDenied);
  EXPECT_EQ(top->find_entry("a.h5").error().code(), ErrorCode::AccessDenied);
  trouble.reset();
  EXPECT_TRUE(top->find_entry("a.h5"));
}

// A server whose pages never end.
TEST_F(ListedDirectoryTest, NamesWithoutEndAreAnError) {
  ListedFiles files;
  files.name = "s3://bucket/";
  bool empty = false;
  files.list = [&](const std::string&, const std::string&, const std::string&, unsigned) {
    ++requests;
    ListedPage out{{}, "more"};
    if (!empty) out.names.assign(1000, {std::string(500, 'x') + ".h5", false, 0, 0, 0});
    return Result<ListedPage>(out);
  };
  const auto top = make_listed_directory(std::move(files));
  EXPECT_EQ(top->list().error().code(), ErrorCode::LimitExceeded);
  empty = true;
  EXPECT_EQ(top->list().error().code(), ErrorCode::LimitExceeded);
  EXPECT_LT(requests, 1000U);
}

TEST_F(ListedDirectoryTest, NamesInAFileLeadBeneathItsDirectoryOnly) {
  keys = {{"p/a.h5", 1}, {"p/q/b.h5", 1}, {"c.h5", 1}, {"p/t.txt", 1}};
  const auto in = *directory()->enter("p");
  const auto shown = [&in](const char* stored) {
    const auto found = in->shown_at("", stored);
    return found && found->in->find_entry(found->name) ? found->relative : std::string("not shown");
  };
  EXPECT_EQ(shown("a.h5"), "a.h5");
  EXPECT_EQ(shown("./q/b.h5"), "q/b.h5");
  EXPECT_EQ(shown("/elsewhere/a.h5"), "a.h5");
  for (const char* name : {"../c.h5", "q/../../c.h5", "t.txt", "q", "a.h5/x", "", "none.h5"})
    EXPECT_EQ(shown(name), "not shown") << name;
}

}  // namespace
}  // namespace h5mount::tree

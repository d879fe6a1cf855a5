#include <gtest/gtest.h>

#include <map>

#include "h5mount/base/limits.h"
#include "h5mount/io/drivers.h"

namespace h5mount::io {
namespace {

class Members {
 public:
  explicit Members(std::map<std::string, std::string> files) : files_(std::move(files)) {}
  OpenMember opener() const {
    return [this](const std::string& path) -> Result<std::shared_ptr<ByteSource>> {
      const auto found = files_.find(path);
      if (found == files_.end()) return fail(Error(ErrorCode::NotFound, path));
      const ByteSpan bytes = as_bytes(found->second);
      return make_memory_source({bytes.begin(), bytes.end()}, path);
    };
  }

 private:
  std::map<std::string, std::string> files_;
};

std::string all_of(const Result<std::shared_ptr<ByteSource>>& source) {
  if (!source) return source.error().text();
  std::string out((*source)->size(), '?');
  if (auto read = (*source)->read_at(0, std::as_writable_bytes(std::span(out))); !read)
    return read.error().text();
  return out;
}

TEST(FamilyNames, Patterns) {
  EXPECT_TRUE(is_family_name("run-%05d.h5"));
  EXPECT_TRUE(is_family_name("100%%-%d.h5"));
  EXPECT_FALSE(is_family_name("run.h5"));
  EXPECT_FALSE(is_family_name("100%%d.h5"));
  EXPECT_FALSE(is_family_name("%s.h5"));
  EXPECT_FALSE(is_family_name("50%"));
  EXPECT_EQ(family_member_path("r%%un-%05d-%d", 12), "r%un-00012-%d");
  EXPECT_EQ(family_member_path("a%d", 7), "a7");
  EXPECT_EQ(family_member_path("a%3d", 7), "a  7");
}

TEST(FirstMembers, ThePathItselfThenThoseOfSets) {
  EXPECT_EQ(first_member_candidates("/d/run-%05d.h5"),
            (std::vector<std::string>{"/d/run-%05d.h5", "/d/run-00000.h5", "/d/run-%05d.h5-s.h5",
                                      "/d/run-%05d.h5-m.h5"}));
  EXPECT_EQ(first_member_candidates("/d/100%"),
            (std::vector<std::string>{"/d/100%", "/d/100%-s.h5", "/d/100%-m.h5"}));
}

TEST(FamilyNames, OfTheFirstMember) {
  EXPECT_EQ(family_patterns_of("d000/run0-00000.h5"),
            (std::vector<std::string>{"d000/run0-%05d.h5", "d000/run%d-00000.h5"}));
  EXPECT_EQ(family_patterns_of("50%_0.h"), std::vector<std::string>{"50%%_%d.h"});
  EXPECT_TRUE(family_patterns_of("run12.x").empty());
}

TEST(Family, JoinsByMemberSize) {
  const Members members({{"f0", "abcd"}, {"f1", "efgh"}, {"f2", "ij"}, {"f4", "never"}});
  EXPECT_EQ(all_of(open_family("f%d", 4, nullptr, members.opener())), "abcdefghij");
  EXPECT_EQ(all_of(open_family("f%d", std::nullopt, nullptr, members.opener())), "abcdefghij");
  EXPECT_EQ(open_family("g%d", 4, nullptr, members.opener()).error().code(), ErrorCode::NotFound);
}

TEST(Multi, MembersAtTheirStarts) {
  const Members members({{"m-s", "super"}, {"m-r", "raw"}});
  const auto set = open_multi("m", {{1000, "%s-r"}, {0, "%s-s"}, {500, "%s-b"}}, members.opener());
  ASSERT_TRUE(set);
  std::string raw(3, '?');
  ASSERT_TRUE((*set)->read_at(1000, std::as_writable_bytes(std::span(raw))));
  EXPECT_EQ(raw, "raw");
  EXPECT_FALSE((*set)->read_at(500, std::as_writable_bytes(std::span(raw))));
}

TEST(Multi, NamesFromTheFileStayInTheDirectory) {
  const Members members({{"m-s", "super"}, {"/etc/passwd", "no"}});
  for (const char* name : {"/etc/passwd", "%s/../x", "x", "%s%s", ""})
    EXPECT_EQ(open_multi("m", {{0, "%s-s"}, {9, name}}, members.opener()).error().code(),
              ErrorCode::InvalidValue)
        << name;
  EXPECT_EQ(open_multi("q", {{0, "%s-s"}}, members.opener()).error().code(), ErrorCode::NotFound);
}

// A sparse directory of empty members costs a hostile sender nothing.
TEST(Family, HasABoundOfMembers) {
  for (const unsigned members : {limits::kMaxFamilyMembers, limits::kMaxFamilyMembers + 1}) {
    unsigned opened = 0;
    const auto family = io::open_family(
        "m%d", 512, nullptr, [&](const std::string& path) -> Result<std::shared_ptr<io::ByteSource>> {
          if (opened == members) return fail(Error(ErrorCode::NotFound, path));
          ++opened;
          return io::make_memory_source({});
        });
    EXPECT_EQ(family.has_value(), members == limits::kMaxFamilyMembers);
    if (!family) EXPECT_EQ(family.error().code(), ErrorCode::LimitExceeded);
  }
}

}  // namespace
}  // namespace h5mount::io

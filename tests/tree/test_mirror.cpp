// Mirrors of a file with links and names of every kind: one whose entries have a suffix, and one with any
// number of entries an object.
#include <gtest/gtest.h>

#include "shown_tree.h"

namespace h5mount::test {
namespace {

using Lines = std::vector<std::string>;

const ShownTree& shown() {
  static const ShownTree tree(written_by_program("tree/fixtures/links.py"));
  return tree;
}

// Of a list, the lines that begin with a prefix, without it.
Lines below(const Lines& all, std::string_view prefix) {
  Lines out;
  for (const std::string& line : all)
    if (line.starts_with(prefix) && line.size() > prefix.size()) out.push_back(line.substr(prefix.size()));
  return out;
}

// Groups are directories at their first path; what leads to them again, softly or not, and around circles,
// are links, and so is the entry of what a soft link leads to. What leads nowhere is absent.
TEST(Mirror, HasTheShapeOfTheFile) {
  const Lines all = shown().below(".h5/csv");
  EXPECT_EQ(below(all, "again/"), (Lines{"inner.csv", "soft_up.csv -> ../d.csv", "up -> .."}));
  const auto has = [&](const std::string& line) { return std::ranges::find(all, line) != all.end(); };
  EXPECT_TRUE(has("again/"));
  EXPECT_TRUE(has("g -> again"));
  EXPECT_TRUE(has("soft_group -> g"));
  EXPECT_TRUE(has("soft.csv -> g/inner.csv"));
  EXPECT_TRUE(has("same.csv"));
  EXPECT_TRUE(has("other -> .h5/external/other.h5/x"));
  for (const char* absent : {"dangling", "loop", "type", "cube"})
    EXPECT_TRUE(below(all, absent).empty()) << absent;  // `cube` has three dimensions
}

TEST(Mirror, HasTheBytesOfTheViewByEveryPath) {
  EXPECT_EQ(shown().text(".h5/csv/same.csv"), "value\n0\n1\n2\n");
  EXPECT_EQ(shown().text(".h5/csv/again/inner.csv"), "value\n0\n1\n");
  EXPECT_EQ(shown().text(".h5/attributes/d@units"), "m");
  EXPECT_EQ(shown().text(".h5/attributes/same@a@b"), "1");
  EXPECT_EQ(shown().text(".h5/attributes/@title"), "all");
}

// A group keeps the name that the entry of another object would have, which is then cut and hashed.
TEST(Mirror, ADirectoryKeepsItsNameWhereAnEntryWouldHaveIt) {
  Lines begun;
  for (const std::string& line : shown().below(".h5/csv"))
    if (line.starts_with('d')) begun.push_back(line);
  ASSERT_EQ(begun.size(), 3U) << testing::PrintToString(begun);
  EXPECT_EQ(begun[1], "d.csv/");
  EXPECT_EQ(begun[2], "d.csv/below.csv");
  const std::string& entry = begun[0];
  EXPECT_TRUE(entry.starts_with("d~") && entry.ends_with(".csv")) << entry;
  EXPECT_EQ(shown().text(".h5/csv/" + entry), "value\n0\n1\n2\n");
}

TEST(Mirror, NamesThatAreTooLongAreCutBeforeTheSuffix) {
  std::string found;
  for (const std::string& line : shown().below(".h5/csv"))
    if (line.starts_with("nnn")) found = line;
  EXPECT_EQ(found.size(), 255U);
  EXPECT_TRUE(found.ends_with(".csv")) << found;
  EXPECT_EQ(shown().text(".h5/csv/" + found), "value\n0\n");
  EXPECT_EQ(shown().refusal(".h5/csv", std::string(251, 'n') + ".csv"), ErrorCode::NotFound);
}

TEST(Mirror, AnObjectHasAnyNumberOfEntries) {
  const Lines all = shown().below(".h5/attributes");
  EXPECT_EQ(below(all, "d@"), (Lines{"units", "a@b"}));
  EXPECT_EQ(below(all, "again"), (Lines{"/", "/soft_up@units -> ../d@units", "/soft_up@a@b -> ../d@a@b",
                                        "/up -> ..", "/up@title -> ../@title", "@of"}));
  EXPECT_EQ(below(all, "g"), (Lines{" -> again", "@of -> again@of"}));
  EXPECT_EQ(below(all, "soft_group"), (Lines{" -> g", "@of -> g@of"}));
  EXPECT_EQ(below(all, "at"), (Lines{"%40sign@n"})) << "the first @ divides";
  EXPECT_EQ(below(all, "@"), (Lines{"title"})) << "of the root";
}

// Its entry has its own name, and a name that it might have in the view is an error. A store leaves it out.
TEST(Mirror, WhatCannotBeReadHasAnEntryAndEndsNoListing) {
  std::vector<std::byte> bytes = written_with_h5py("for n in 'abc': f[n] = np.ones((2, 3))", "latest");
  const auto headers = places_of(bytes, "OHDR");  // of the root, of a, b and c
  ASSERT_EQ(headers.size(), 4U);
  flip(bytes, headers[2], 20);
  const ShownTree damaged(std::move(bytes));
  EXPECT_EQ(damaged.below(".h5/npy"), (Lines{"a.npy", "b", "c.npy"}));
  EXPECT_EQ(damaged.below(".h5/text"), (Lines{"a", "b", "c"}));
  EXPECT_EQ(damaged.below(".h5/attributes"), Lines{"b"});
  EXPECT_EQ(damaged.below(".h5/slice"), (Lines{"a/", "a/0", "a/1", "b", "c/", "c/0", "c/1"}));
  EXPECT_EQ(damaged.refusal(".h5/npy", "b.npy"), ErrorCode::ChecksumMismatch);
  EXPECT_EQ(damaged.refusal(".h5/npy", "d.npy"), ErrorCode::NotFound);
  for (const char* store : {".h5/plain.zarr", ".h5/stored.zarr", ".h5/v3.zarr"}) {
    const Lines all = damaged.below(store);
    EXPECT_EQ(std::ranges::count(all, "a/") + std::ranges::count(all, "c/"), 2) << store;
    EXPECT_EQ(std::ranges::count(all, "b/"), 0) << store;
    EXPECT_EQ(damaged.refusal(store, "b"), ErrorCode::ChecksumMismatch) << store;
  }
}

TEST(Mirror, HasNoOtherNames) {
  for (const char* name : {"d", "same", "g.csv", "again.csv", "dangling", "dangling.csv", "cube.csv",
                           "type.csv", ".csv", "", "Same.csv", "same.csv.csv"})
    EXPECT_EQ(shown().refusal(".h5/csv", name), ErrorCode::NotFound) << name;
  for (const char* name :
       {"d", "d@", "d@none", "@none", "@", "at@sign", "at@sign@n", "d%40units", "dangling@x"})
    EXPECT_EQ(shown().refusal(".h5/attributes", name), ErrorCode::NotFound) << name;
  EXPECT_EQ(shown().refusal(".h5/attributes/again", "@title"), ErrorCode::NotFound) << "it is the root's";
}

}  // namespace
}  // namespace h5mount::test

// References of a file in the form of many files: which there are, and that they let go of their file.
#include <gtest/gtest.h>

#include "shown_tree.h"

namespace h5mount::test {
namespace {

// The names below a directory that are not hidden, without those of parts and chunks.
std::vector<std::string> arrays_of(const ShownTree& tree, std::string_view directory, std::string_view file) {
  std::vector<std::string> out;
  for (const std::string& line : tree.below(directory))
    if (line.ends_with(file)) out.push_back(line.substr(0, line.size() - file.size()));
  std::ranges::sort(out);
  return out;
}

TEST(References, PartsAreThoseOfTheArraysOfTheStore) {
  const ShownTree tree(written_by_program("tree/fixtures/links.py"));
  auto stored = arrays_of(tree, ".h5/stored.zarr", "/.zarray");
  EXPECT_EQ(std::erase(stored, "names/zarr.json"), 1U) << "its readers take that for something else";
  EXPECT_GT(stored.size(), 5U);
  EXPECT_EQ(arrays_of(tree, ".h5/references.parq", "/refs.0.parq"), stored);
  for (const std::string& array : stored) {
    const std::string part = tree.text(".h5/references.parq/" + array + "/refs.0.parq");
    EXPECT_TRUE(part.starts_with("PAR1") && part.ends_with("PAR1")) << array;
    EXPECT_EQ(tree.refusal(".h5/references.parq/" + array, "refs.1.parq"), ErrorCode::NotFound);
    EXPECT_EQ(tree.refusal(".h5/references.parq/" + array, "refs.00.parq"), ErrorCode::NotFound);
  }
  EXPECT_TRUE(tree.text(".h5/references.parq/.zmetadata").ends_with("},\"record_size\":100000}"));
  EXPECT_EQ(tree.refusal(".h5/references.parq", "none"), ErrorCode::NotFound);
}

// What is kept for a snapshot would keep the file itself, for ever, if it referred to that.
TEST(References, EndWithTheirTree) {
  auto source = io::make_memory_source(written_by_program("tree/fixtures/links.py"));
  const std::weak_ptr<io::ByteSource> kept = source;
  {
    const auto tree = tree_over(source, metadata::Follow::Never);
    source = nullptr;
    for (const char* path :
         {".h5/references.parq/.zmetadata", ".h5/references.json", ".h5/references.icechunk/repo"}) {
      const auto stat = tree->stat(look_up(*tree, path), tree::StatDepth::Full);
      ASSERT_TRUE(stat) << path;
      EXPECT_GT(stat->size, 2U);
    }
  }
  EXPECT_TRUE(kept.expired());
}

}  // namespace
}  // namespace h5mount::test

// Attributes and descriptions of the corpus' own files.
#include <gtest/gtest.h>

#include "h5mount/object/file_set.h"
#include "h5mount/object/object.h"
#include "support/corpus.h"

namespace h5mount::object {
namespace {

TEST(Attributes, DenseOnesAreListedAndFound) {
  H5MOUNT_NEEDS_CORPUS(place);
  auto set = FileSet::open((place / "generated/attrs_dense_1000.h5").string(), ExternalPolicy::None, {});
  ASSERT_TRUE(set);
  const metadata::FileMetadata& file = *(*set)->main()->metadata;
  const auto root = open_object(file, file.root_address());
  ASSERT_TRUE(root);
  std::size_t count = 0;
  const auto look_up = [&](const Attribute& listed) {
    const auto found = find_attribute(file, *root, listed.name);
    EXPECT_TRUE(found && found->data.size() == listed.data.size()) << listed.name;
    EXPECT_FALSE(listed.damage);
    ++count;
    return true;
  };
  ASSERT_TRUE(for_each_attribute(file, *root, look_up, [](const Error& e) { ADD_FAILURE() << e.text(); }));
  EXPECT_EQ(count, 922U);
  EXPECT_EQ(find_attribute(file, *root, "no such one").error().code(), ErrorCode::NotFound);
}

}  // namespace
}  // namespace h5mount::object

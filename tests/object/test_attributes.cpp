// Attributes and descriptions of files that libhdf5 wrote.
#include <gtest/gtest.h>

#include "h5mount/object/file_set.h"
#include "h5mount/object/object.h"
#include "support/corpus.h"

namespace h5mount::object {
namespace {

void expect_attributes(const std::filesystem::path& path, std::string_view name, std::size_t expected) {
  SCOPED_TRACE(path.string());
  auto set = FileSet::open(path.string(), ExternalPolicy::None, {});
  ASSERT_TRUE(set);
  const auto file = (*set)->main()->snapshot();
  const auto address = resolve_path(file, file->root_address(), name);
  ASSERT_TRUE(address) << address.error().text();
  const auto holder = open_object(*file, *address);
  ASSERT_TRUE(holder);
  std::size_t count = 0;
  const auto find_again = [&](const Attribute& listed) {
    const auto found = find_attribute(*file, *holder, listed.name);
    EXPECT_TRUE(found && found->data.size() == listed.data.size()) << listed.name;
    EXPECT_FALSE(listed.damage);
    ++count;
    return true;
  };
  ASSERT_TRUE(
      for_each_attribute(*file, *holder, find_again, [](const Error& e) { ADD_FAILURE() << e.text(); }));
  EXPECT_EQ(count, expected);
  EXPECT_EQ(find_attribute(*file, *holder, "no such one").error().code(), ErrorCode::NotFound);
}

TEST(Attributes, AllAreListedAndFound) {
  H5MOUNT_NEEDS_CORPUS();
  for (const char* era : {"old", "v18", "new"}) {
    const auto file = test::own_corpus() / "generated" / (std::string("attributes_") + era + ".h5");
    expect_attributes(file, "/dense", 300);
    expect_attributes(file, "/kinds", 15);
    expect_attributes(file, "/dataset", 12);
  }
  if (const auto shared = test::shared_corpus())
    expect_attributes(*shared / "generated/attrs_dense_1000.h5", "/", 922);
}

}  // namespace
}  // namespace h5mount::object

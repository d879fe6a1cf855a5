// Objects whose header cannot be read, so that it is not known what they are.
#include <gtest/gtest.h>

#include <cerrno>

#include "h5mount/tree/tree.h"
#include "support/h5py_file.h"

namespace h5mount::test {
namespace {

std::shared_ptr<tree::Tree> tree_over(std::vector<std::byte> bytes) {
  auto files = object::FileSet::open(io::make_memory_source(std::move(bytes)), {});
  EXPECT_TRUE(files) << files.error().text();
  if (!files) return nullptr;
  auto tree = tree::Tree::make(
      {std::make_shared<cache::BlockCache>(16U << 20), std::make_shared<cache::WorkerPool>(1), *files}, {});
  EXPECT_TRUE(tree) << tree.error().text();
  return tree ? *tree : nullptr;
}

// Any of the names may be there: the answer is the damage, and not that there is no such attribute.
TEST(BrokenObject, DoesNotDenyItsAttributes) {
  std::vector<std::byte> bytes = written_with_h5py(R"(
f['first'] = np.arange(1000)
g = f.create_group('g')
for i in range(20): g.attrs['a%02d' % i] = np.arange(200)
f['last'] = np.arange(20000)
)",
                                                   "earliest");
  int broken = 0;
  for (const std::size_t size : {bytes.size() / 2, bytes.size() / 8, bytes.size() / 16, bytes.size() / 64}) {
    bytes.resize(size);
    const auto tree = tree_over(bytes);
    if (!tree) continue;
    const auto entry = tree->lookup(tree::kRootNode, "g");
    if (!entry) continue;
    const auto why = tree->get_xattr(entry->node, "user.hdf5.error");
    if (!why) continue;
    ++broken;
    for (int i = 0; i < 20; ++i) {
      const auto value = tree->get_xattr(entry->node, "user.a" + std::to_string(100 + i).substr(1));
      if (!value) EXPECT_EQ(to_errno(value.error().code()), EIO) << size << ": " << value.error().text();
    }
    const auto kind = tree->get_xattr(entry->node, "user.hdf5.kind");
    if (!kind) EXPECT_EQ(to_errno(kind.error().code()), EIO) << kind.error().text();
  }
  EXPECT_GE(broken, 1) << "no cut met the group's header";
}

}  // namespace
}  // namespace h5mount::test

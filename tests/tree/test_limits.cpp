// What the tree remembers of a file, on both sides of its bounds (base/limits.h).
#include <gtest/gtest.h>

#include "../../src/tree/core/external_files.h"
#include "../../src/tree/core/object_paths.h"
#include "../../src/tree/core/served_file.h"
#include "support/h5py_file.h"

namespace h5mount::test {
namespace {

std::shared_ptr<object::FileSet> written_files(const std::string& script) {
  auto files =
      object::FileSet::open(io::make_memory_source(written_with_h5py(script)), metadata::MetadataOptions{});
  return files ? *std::move(files) : nullptr;
}

TEST(Limits, PathsOfObjectsEndAfterTheMost) {
  const auto files = written_files("for i in range(50): f.create_group('g%02d' % i)");
  ASSERT_TRUE(files);
  const metadata::FileMetadataPtr file = files->main()->snapshot();
  std::vector<std::uint64_t> addresses;
  for (int i = 0; i < 50; ++i) {
    const auto address =
        object::resolve_path(file, file->root_address(), "g" + std::to_string(100 + i).substr(1));
    ASSERT_TRUE(address) << address.error().text();
    addresses.push_back(*address);
  }
  const auto all = tree::ObjectPaths::walk(file, 51), cut = tree::ObjectPaths::walk(file, 50);
  EXPECT_EQ(all->path_to(addresses[49]), "/g49");
  EXPECT_EQ(cut->path_to(addresses[48]), "/g48");
  EXPECT_FALSE(cut->path_to(addresses[49]));
}

TEST(Limits, NamesOfExternalFilesAreDroppedOldestFirst) {
  const auto mounted = written_files("f.create_group('g')");
  if (!mounted) GTEST_SKIP() << "h5py wrote no file";
  const auto context = std::make_shared<tree::MountContext>();
  context->environment = {std::make_shared<cache::BlockCache>(1U << 20), nullptr, mounted};
  const auto file = std::make_shared<tree::ServedFile>(context, mounted->main(), 0U, 0U);
  tree::ExternalFiles files;
  // Shown, named and stored: three times a name.
  const std::size_t each = limits::kMaxRememberedNameBytes / 3 / 64 - 1024;
  const auto remember = [&](unsigned number) {
    const std::string name = std::to_string(100 + number) + std::string(each, 'n');
    files.remember_link(*file, name);
  };
  // A shown name is cut to the length of a file name, so more than 64 have room.
  unsigned kept = 0;
  for (unsigned number = 0; number < 200; ++number) {
    remember(number);
    if (files.used_names().size() <= kept) break;
    kept = static_cast<unsigned>(files.used_names().size());
  }
  EXPECT_GE(kept, 64U);
  EXPECT_LT(kept, 100U);
  std::vector<std::string> names = files.used_names();
  const auto has = [&](unsigned number) {
    return std::ranges::any_of(
        names, [&](const std::string& name) { return name.starts_with(std::to_string(100 + number)); });
  };
  EXPECT_FALSE(has(0));
  EXPECT_TRUE(has(1));
  EXPECT_TRUE(has(kept));
}

TEST(Limits, FirstPlacesOfGroupsAreRememberedUpToTheMost) {
  const auto files = written_files("f.create_group('g')");
  ASSERT_TRUE(files);
  const auto context = std::make_shared<tree::MountContext>();
  context->environment = {std::make_shared<cache::BlockCache>(1U << 20), nullptr, files};
  const auto file = std::make_shared<tree::ServedFile>(context, files->main(), 0U, 0U);
  const std::uint64_t root = file->root_address(), most = limits::kMaxRememberedGroups;
  for (std::uint64_t group = 1; group <= most; ++group)
    EXPECT_FALSE(file->other_place(group << 32, root, "first"));
  using Names = std::vector<std::string>;
  EXPECT_EQ(file->other_place(most << 32, root, "second"), Names{"first"});
  EXPECT_FALSE(file->other_place(most << 32, root, "first"));
  EXPECT_FALSE(file->other_place((most + 1) << 32, root, "first"));
  EXPECT_FALSE(file->other_place((most + 1) << 32, root, "second"));
}

}  // namespace
}  // namespace h5mount::test

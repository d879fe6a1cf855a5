#include <gtest/gtest.h>

#include <set>

#include "h5mount/object/object.h"
#include "support/corpus.h"
#include "support/faulty_source.h"

namespace h5mount::test {
namespace {

struct GroupCase {
  std::string file;  // below generated/
  std::string path;
  std::size_t links;
  bool creation_order_indexed;
  std::uint64_t most_reads;  // maximum reads of the source for opening the group and finding one link
};
void PrintTo(const GroupCase& what, std::ostream* out) {
  *out << what.file << what.path;
}

std::string place_of(const GroupCase& what) {
  const auto own = own_corpus() / "generated" / what.file;
  return std::filesystem::exists(own) ? own : *shared_corpus() / "generated" / what.file;
}

class Groups : public testing::TestWithParam<GroupCase> {};

Result<std::unique_ptr<object::Group>> open_group(const metadata::FileMetadataPtr& file,
                                                  std::string_view path) {
  H5_ASSIGN(const std::uint64_t address, object::resolve_path(file, file->root_address(), path));
  H5_ASSIGN(const object::Object object, object::open_object(*file, address));
  return object::Group::open(file, object);
}

TEST_P(Groups, EveryLinkIsListedOnceAndFound) {
  H5MOUNT_NEEDS_CORPUS();
  const auto source = io::open_file_source(place_of(GetParam()));
  ASSERT_TRUE(source) << source.error().text();
  const auto file = metadata::FileMetadata::open(*source, {});
  ASSERT_TRUE(file) << file.error().text();
  const auto group = open_group(*file, GetParam().path);
  ASSERT_TRUE(group) << group.error().text();
  EXPECT_EQ((*group)->creation_order_indexed(), GetParam().creation_order_indexed);

  std::set<std::string> names;
  std::size_t seen = 0;
  const Status listed = (*group)->for_each(
      [&](const format::Link& link) {
        ++seen;
        names.insert(link.name);
        return true;
      },
      [](const Error& error) { ADD_FAILURE() << error.text(); });
  ASSERT_TRUE(listed) << listed.error().text();
  EXPECT_EQ(seen, GetParam().links);
  EXPECT_EQ(names.size(), seen);

  std::size_t step = 0;
  for (const std::string& name : names) {
    if (step++ % 101 != 0) continue;
    const auto link = (*group)->find(name);
    ASSERT_TRUE(link) << link.error().text();
    EXPECT_EQ(link->name, name);
  }
  EXPECT_EQ((*group)->find("there is no such link").error().code(), ErrorCode::NotFound);
}

TEST_P(Groups, ALookupReadsOnlyTheNodesOnItsPath) {
  H5MOUNT_NEEDS_CORPUS();
  const auto source = std::make_shared<FaultySource>(read_whole_file(place_of(GetParam())));
  const auto file = metadata::FileMetadata::open(source, {});
  ASSERT_TRUE(file);
  const auto group = open_group(*file, GetParam().path);
  ASSERT_TRUE(group);
  const unsigned before = source->reads;
  EXPECT_EQ((*group)->find("there is no such link").error().code(), ErrorCode::NotFound);
  EXPECT_LE(source->reads - before, GetParam().most_reads);
}

std::vector<GroupCase> own_cases() {
  return {GroupCase{"groups_old.h5", "/", 7, false, 24},
          GroupCase{"groups_old.h5", "/empty", 0, false, 24},
          GroupCase{"groups_old.h5", "/few", 8, false, 24},
          GroupCase{"groups_old.h5", "/many", 60, false, 24},
          GroupCase{"groups_old.h5", "/big", 2000, false, 24},
          GroupCase{"groups_old.h5", "/deleted", 200, false, 24},
          GroupCase{"groups_old.h5", "/links", 12, false, 24},
          GroupCase{"groups_old.h5", "/ordered", 40, true, 8},
          GroupCase{"groups_v18.h5", "/", 7, false, 8},
          GroupCase{"groups_v18.h5", "/empty", 0, false, 8},
          GroupCase{"groups_v18.h5", "/few", 8, false, 8},
          GroupCase{"groups_v18.h5", "/many", 60, false, 8},
          GroupCase{"groups_v18.h5", "/big", 2000, false, 8},
          GroupCase{"groups_v18.h5", "/deleted", 200, false, 8},
          GroupCase{"groups_v18.h5", "/links", 12, false, 8},
          GroupCase{"groups_v18.h5", "/ordered", 40, true, 8},
          GroupCase{"groups_new.h5", "/", 7, false, 8},
          GroupCase{"groups_new.h5", "/empty", 0, false, 8},
          GroupCase{"groups_new.h5", "/few", 8, false, 8},
          GroupCase{"groups_new.h5", "/many", 60, false, 8},
          GroupCase{"groups_new.h5", "/big", 2000, false, 8},
          GroupCase{"groups_new.h5", "/deleted", 200, false, 8},
          GroupCase{"groups_new.h5", "/links", 12, false, 8},
          GroupCase{"groups_new.h5", "/ordered", 40, true, 8},
          GroupCase{"narrow.h5", "/big", 2000, false, 24}};
}

std::vector<GroupCase> shared_cases() {
  if (!shared_corpus()) return {};
  return {GroupCase{"grp_compact.h5", "/g", 8, false, 1},
          GroupCase{"grp_compact_empty.h5", "/g", 0, false, 1},
          GroupCase{"grp_compact_many.h5", "/g", 439, false, 64},
          GroupCase{"grp_compact_order_idx.h5", "/g", 6, true, 1},
          GroupCase{"grp_dense.h5", "/g", 63, false, 8},
          GroupCase{"grp_dense_100k.h5", "/big", 100'851, false, 8},
          GroupCase{"grp_dense_2k.h5", "/g", 2'239, true, 8},
          GroupCase{"grp_dense_always.h5", "/g", 5, false, 8},
          GroupCase{"grp_dense_deleted.h5", "/d", 250, true, 8},
          GroupCase{"grp_dense_deleted.h5", "/back_to_compact", 2, false, 1},
          GroupCase{"grp_dense_filtered.h5", "/gz_f32", 877, false, 8},
          GroupCase{"grp_dense_filtered.h5", "/gz", 45, false, 8},
          GroupCase{"grp_old_10k.h5", "/big", 9'754, false, 24},
          GroupCase{"grp_old_deleted.h5", "/d", 151, false, 24},
          GroupCase{"grp_old_mk.h5", "/deep", 411, false, 24},
          GroupCase{"grp_old_small.h5", "/fifty", 52, false, 24},
          GroupCase{"links_new.h5", "/", 35, false, 8},
          GroupCase{"links_old.h5", "/", 35, false, 24},
          GroupCase{"links_external.h5", "/", 17, false, 8},
          GroupCase{"names_new.h5", "/", 48, false, 8},
          GroupCase{"names_old.h5", "/", 47, false, 8}};
}

INSTANTIATE_TEST_SUITE_P(Corpus, Groups, testing::ValuesIn(own_cases()));
INSTANTIATE_TEST_SUITE_P(SharedCorpus, Groups, testing::ValuesIn(shared_cases()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Groups);

}  // namespace
}  // namespace h5mount::test

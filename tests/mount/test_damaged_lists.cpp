// Groups and attribute lists whose storage is damaged, as tools meet them: they get all that can be read, and
// then an error that they report.
#include "command.h"
#include "support/every_index.h"

namespace h5mount::test {
namespace {

// Whole copies; each is to fail where it is not whole.
constexpr const char* kTools[] = {"find . >/dev/null", "tar cf - . >/dev/null",
                                  "d=$(mktemp -d) && cp -a --preserve=xattr . $d; s=$?; rm -rf $d; exit $s"};

constexpr std::uint8_t kLinkNames = 5, kAttributeNames = 8;  // types of v2 B-trees

class DamagedLists : public ::testing::Test {
 protected:
  void SetUp() override { H5MOUNT_NEEDS_FUSE(); }

  std::vector<std::byte> written(const char* libver) {
    auto bytes = written_with_h5py(kEveryIndex, libver);
    return bytes;
  }
  void mount_bytes(const std::vector<std::byte>& bytes) {
    const auto path = scratch() / "damaged.h5";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    const Outcome mounted = mount.mount(path);
    ASSERT_EQ(mounted.code, 0) << mounted.err;
  }
  static void flip_leaf(std::vector<std::byte>& bytes, std::uint8_t type, std::size_t which) {
    auto leaves = places_of(bytes, "BTLF");
    std::erase_if(leaves, [&](std::size_t at) { return bytes[at + 5] != std::byte{type}; });
    ASSERT_GT(leaves.size(), which);
    flip(bytes, leaves[which], 20);
  }

  // What is there can be used, what is not is an error, for every tool and however often.
  void expect_partial(const std::string& directory, int most, const std::string& structure) {
    for (int i = 0; i < 2; ++i) {
      const Outcome listed = mount.in("ls " + directory);
      EXPECT_NE(listed.code, 0);
      EXPECT_NE(listed.err.find("Input/output error"), std::string::npos) << listed.err;
      EXPECT_GT(lines_in(listed.out), 5);
      EXPECT_LT(lines_in(listed.out), most);
    }
    for (const std::string tool : kTools) {
      EXPECT_NE(mount.in("cd " + directory + " && " + tool).code, 0) << tool;
      EXPECT_EQ(mount.in("cd few && " + tool).code, 0) << tool;
    }
    EXPECT_EQ(mount
                  .in("cd " + directory +
                      " && for n in $(ls 2>/dev/null); do stat \"$n\" >/dev/null || exit 1; done")
                  .code,
              0);
    const Outcome error = mount.in("getfattr --only-values -n user.hdf5.error " + directory);
    EXPECT_EQ(error.code, 0) << error.err;
    EXPECT_NE(error.out.find(structure), std::string::npos) << error.out;
    EXPECT_NE(error.out.find("0x"), std::string::npos) << error.out;
    EXPECT_NE(error.out.find("list of links"), std::string::npos) << error.out;
  }
  // Each of the names that were written is there or an error, never absent.
  void expect_no_absence(const std::string& directory) {
    const Outcome asked =
        mount.in("cd " + directory +
                 " && for i in $(seq -w 000 059); do stat data_$i; done 2>&1 >/dev/null | sort | uniq -c");
    EXPECT_NE(asked.out.find("Input/output error"), std::string::npos) << asked.out;
    EXPECT_EQ(asked.out.find("No such file"), std::string::npos) << asked.out;
  }

  MountPoint mount;
};

TEST_F(DamagedLists, ALeafOfADenseGroup) {
  auto bytes = written("latest");
  flip_leaf(bytes, kLinkNames, 1);
  mount_bytes(bytes);
  expect_partial("many", 69, "BTree2LeafNode");
  expect_no_absence("many");
  EXPECT_EQ(mount.in("ls few ordered").code, 0);
}

TEST_F(DamagedLists, ANodeOfAnOldGroup) {
  auto bytes = written("earliest");
  const auto nodes = places_of(bytes, "SNOD");
  ASSERT_GT(nodes.size(), 8U);
  bytes[nodes[nodes.size() / 2]] = std::byte{'X'};  // most nodes are of the group with most links
  mount_bytes(bytes);
  expect_partial("many", 69, "SymbolTableNode");
  expect_no_absence("many");
}

// One letter of a name changed, so that it stands in the wrong place: searches of other names are misled by
// it.
TEST_F(DamagedLists, ANameOutOfOrderHidesNoOther) {
  auto bytes = written("earliest");
  const auto names = places_of(bytes, "data_030");
  ASSERT_FALSE(names.empty());
  bytes[names[0]] = std::byte{'z'};
  mount_bytes(bytes);
  const Outcome all =
      mount.in("cd many && for i in $(seq -w 000 059); do stat -c %s data_$i; done 2>&1 | grep -vc '^32$'");
  EXPECT_EQ(all.out, "1\n");
  expect_partial("many", 70, "link_name");
  EXPECT_EQ(mount.in("stat many/zata_030").code, 0);
  EXPECT_NE(mount.in("stat many/data_030").err.find("Input/output error"), std::string::npos);
}

TEST_F(DamagedLists, ALeafOfAttributes) {
  auto bytes = written("latest");
  flip_leaf(bytes, kAttributeNames, 1);
  mount_bytes(bytes);
  const Outcome dumped = mount.in("getfattr -d -m user.attribute attributes");
  EXPECT_GT(lines_in(dumped.out), 5);
  EXPECT_LT(lines_in(dumped.out), 60);
  const Outcome all = mount.in("getfattr -d -m - attributes");
  EXPECT_NE(all.out.find("user.hdf5.error"), std::string::npos) << all.out;
  EXPECT_NE(all.err.find("Input/output error"), std::string::npos)
      << "nothing says that attributes are missing";
  for (const std::string directory : {"attributes", "many"})
    EXPECT_EQ(mount.in("cd " + directory + " && " + kTools[2]).code == 0, directory == "many") << directory;
  const Outcome asked = mount.in(
      "for i in $(seq -w 000 059); do getfattr -n user.attribute_$i attributes; done 2>&1 >/dev/null | cut "
      "-d: -f3 | sort | uniq -c");
  EXPECT_NE(asked.out.find("Input/output error"), std::string::npos) << asked.out;
  EXPECT_EQ(asked.out.find("No such attribute"), std::string::npos) << asked.out;
  EXPECT_EQ(mount.in("ls attributes many").code, 0);
  EXPECT_NE(mount.in("getfattr -n user.nothing many").err.find("No such attribute"), std::string::npos);
}

// A string whose object the global heap does not have is damage, not absence.
TEST_F(DamagedLists, ATextWhoseHeapObjectIsMissing) {
  auto bytes = written("latest");
  const auto heaps = places_of(bytes, "GCOL");
  ASSERT_FALSE(heaps.empty());
  for (const std::size_t heap : heaps) bytes[heap + 16] = std::byte{0x7F};  // the index of its first object
  mount_bytes(bytes);
  const Outcome text = mount.in("cat few/text");
  EXPECT_NE(text.err.find("Input/output error"), std::string::npos) << text.err;
  const Outcome dumped = mount.in("getfattr -d few");
  EXPECT_EQ(dumped.err.find("No such attribute"), std::string::npos) << dumped.err;
}

// The header of the group goes on behind the end of the file, so that it is not known what the object is. Any
// attribute may be there; names outside of `user.` never are.
TEST_F(DamagedLists, AnObjectOfUnknownKindDeniesNoAttribute) {
  auto bytes = written_with_h5py(R"(
f['first'] = np.arange(1000)
g = f.create_group('g')
for i in range(20): g.attrs['a%02d' % i] = np.arange(200)
f['last'] = np.arange(20000)
)",
                                 "earliest");
  bytes.resize(bytes.size() / 8);
  mount_bytes(bytes);
  EXPECT_EQ(mount.in("getfattr --only-values -n user.hdf5.error g | grep -c ObjectHeader").out, "1\n");
  for (const char* const name : {"user.a00", "user.a07", "user.a19", "user.hdf5.kind"}) {
    const Outcome asked = mount.in(std::string("getfattr -n ") + name + " g");
    EXPECT_NE(asked.code, 0) << name;
    EXPECT_NE(asked.err.find("Input/output error"), std::string::npos) << asked.err;
  }
  EXPECT_NE(mount.in("getfattr -n security.capability g").err.find("not supported"), std::string::npos);
}

}  // namespace
}  // namespace h5mount::test

// Filters through the mount. An array as PyTables stores it, in n-dimensional Blosc2 blocks: who reads one
// row pays for the blocks of that row, and the status line says so. And what a dataset says whose filter or
// codec is not there.
#include <regex>

#include "command.h"

namespace h5mount::test {
namespace {

class FiltersTest : public ::testing::Test {
 protected:
  void SetUp() override { H5MOUNT_NEEDS_FUSE(); }

  // A command that runs a program of fixtures/filters.
  static std::string fixture(const std::string& name) {
    return python() + (source_root() / "tests/mount/fixtures/filters" / name).string();
  }
  // The program in the foreground, so that its log is to be had.
  void start(const std::filesystem::path& file) {
    run("$H5MOUNT -f " + file.string() + " " + mount.path() + " >/dev/null 2>>" + log.string() +
        " & echo $! >" + pid.string());
    for (int i = 0; i < 500 && !mount.mounted(); ++i) ::usleep(10'000);
    ASSERT_TRUE(mount.mounted()) << slurp(log);
  }
  // A number of the status line that SIGUSR1 asks for.
  std::uint64_t counter(const std::string& name) {
    std::filesystem::resize_file(log, 0);
    run("kill -USR1 $(cat " + pid.string() + ")");
    for (int i = 0; i < 500; ++i) {
      const std::string text = slurp(log);
      std::smatch found;
      if (text.ends_with('\n') && std::regex_search(text, found, std::regex(" " + name + "=([0-9]+)")))
        return std::stoull(found[1]);
      ::usleep(10'000);
    }
    ADD_FAILURE() << "no status with " << name << ": " << slurp(log);
    return 0;
  }

  MountPoint mount;
  std::filesystem::path log = scratch() / "log", pid = scratch() / "pid";
};

// 1024 x 2048 floats in chunks of 512 x 1024 and blocks of 64 x 128: a row meets two chunks, and in each 8 of
// 64 blocks.
TEST_F(FiltersTest, OneRowDecodesOnlyItsBlocks) {
  const auto file = scratch() / "array.h5";
  const Outcome made =
      run(python() + (source_root() / "scripts/make_blosc2_array.py").string() + " " + file.string());
  ASSERT_EQ(made.code, 0) << made.err;
  start(file);
  EXPECT_EQ(mount.in("getfattr --only-values -n user.blocks_of_a_row array").out, "16");
  // Past the page cache, so that the kernel asks for this row and no more.
  const std::string row = (scratch() / "row").string();
  EXPECT_EQ(mount
                .in("dd if=plain bs=8192 skip=300 count=1 status=none >" + row +
                    " && dd if=array bs=8192 skip=300 count=1 iflag=direct status=none | cmp - " + row)
                .code,
            0);
  EXPECT_EQ(counter("blocks_decoded"), 16U);
  EXPECT_EQ(counter("blocks_in_reach"), 128U);
  EXPECT_EQ(counter("chunks_decoded"), 0U);
  // Half a row, in one chunk.
  ASSERT_EQ(mount.in("dd if=array bs=4096 skip=1801 count=1 iflag=direct status=none | wc -c").out, "4096\n");
  EXPECT_EQ(counter("blocks_decoded"), 24U);
  EXPECT_EQ(mount.in("cmp array plain").code, 0);
}

// A damaged block is an error for the rows that need it, however often the chunk was read before.
TEST_F(FiltersTest, ADamagedBlockIsThatOfItsRowsAlways) {
  const auto file = scratch() / "damaged_array.h5";
  const Outcome made =
      run(python() + (source_root() / "scripts/make_blosc2_array.py").string() + " " + file.string());
  ASSERT_EQ(made.code, 0) << made.err;
  ASSERT_EQ(run(fixture("damaged_block.py") + " " + file.string()).code, 0);
  start(file);
  // 512 rows of the chunk, each half a row of the array, in several passes.
  EXPECT_EQ(mount.in(fixture("passes_of_rows.py")).out, "True True {5}\n");
}

TEST_F(FiltersTest, WhatIsMissingIsNamedAndUnsupported) {
  const Outcome made = run("cd " + scratch().string() + " && " + fixture("refused_chunks.py"));
  ASSERT_EQ(made.code, 0) << made.err;
  start(scratch() / "refused.h5");
  const auto refusal = [&](const std::string& name) {
    const Outcome read = mount.in("cat " + name);
    EXPECT_NE(read.err.find("Operation not supported"), std::string::npos) << name << ": " << read.err;
    EXPECT_EQ(mount.in("stat -c %s " + name).out, "256\n");
    return mount.in("getfattr --only-values -n user.hdf5.error " + name).out;
  };
  const std::string sz3 = refusal("sz3");
  EXPECT_NE(sz3.find("32024 (sz3)"), std::string::npos) << sz3;
  EXPECT_NE(sz3.find("hdf5plugin"), std::string::npos) << sz3;
  const std::string lzo = refusal("lzo");
  EXPECT_NE(lzo.find("305 (lzo)"), std::string::npos) << lzo;
  EXPECT_NE(lzo.find("PyTables"), std::string::npos) << lzo;
  EXPECT_NE(refusal("unknown").find("33333"), std::string::npos);
  EXPECT_EQ(mount.in("cmp skipped plain").code, 0) << "a chunk that the filter was not applied to";
  EXPECT_EQ(mount.in("tr -d '\\0' <blosc | wc -c").out, "0\n");
  // What only a chunk says is told when it is read.
  const auto logged = [&](const std::string& name) {
    refusal(name);
    return slurp(log);
  };
  EXPECT_NE(logged("lengths").find("blocks of variable length"), std::string::npos) << slurp(log);
  EXPECT_NE(logged("ndlz").find("codec 32 (ndlz)"), std::string::npos) << slurp(log);
  EXPECT_NE(logged("nobody").find("filter 77"), std::string::npos) << slurp(log);
}

}  // namespace
}  // namespace h5mount::test

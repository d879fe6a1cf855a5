// The limit of memory in trees of /proc and /sys as systems with either version of control groups have them.
#include "open/memory_limit.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace h5mount::cli {
namespace {

class MemoryLimitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "h5mount-limit-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  void groups(const std::string& text) const { write("/proc/self/cgroup", text); }
  void mounts(const std::string& text) const {
    write("/proc/self/mountinfo", "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" + text);
  }
  // In MiB; 0: none.
  std::uint64_t limit() const {
    const auto found = memory_limit(root);
    return found ? found->bytes >> 20 : 0;
  }
  std::string file() const { return memory_limit(root).value_or(MemoryLimit{}).file.substr(root.size()); }

  std::string root;
};

constexpr const char* kUnified =
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kMemory = "35 31 0:32 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n";
constexpr const char* kCpu = "36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
constexpr const char* k200MiB = "209715200\n";
constexpr const char* k300MiB = "314572800\n";

TEST_F(MemoryLimitTest, NothingSaysThatThereIsOne) {
  EXPECT_EQ(limit(), 0U);
  groups("0::/\n");
  mounts(kUnified);
  EXPECT_EQ(limit(), 0U);
  write("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(limit(), 0U);
}

TEST_F(MemoryLimitTest, TheLeastOfAllGroupsUpToTheRoot) {
  groups("0::/system.slice/job.service/inner\n");
  mounts(kUnified);
  write("/sys/fs/cgroup/system.slice/job.service/inner/memory.max", "max\n");
  write("/sys/fs/cgroup/system.slice/job.service/memory.max", k200MiB);
  write("/sys/fs/cgroup/system.slice/memory.max", k300MiB);
  EXPECT_EQ(limit(), 200U);
  EXPECT_EQ(file(), "/sys/fs/cgroup/system.slice/job.service/memory.max");
  write("/sys/fs/cgroup/system.slice/job.service/memory.max", k300MiB);
  write("/sys/fs/cgroup/system.slice/memory.max", k200MiB);
  EXPECT_EQ(limit(), 200U);
  write("/sys/fs/cgroup/system.slice/job.service/inner/memory.high", "104857600\n");
  EXPECT_EQ(limit(), 100U);
}

// A container whose own group is the root that it sees.
TEST_F(MemoryLimitTest, TheRootOfANamespace) {
  groups("0::/\n");
  mounts(kUnified);
  write("/sys/fs/cgroup/memory.max", k200MiB);
  EXPECT_EQ(limit(), 200U);
  groups("0::/../../other.scope\n");
  EXPECT_EQ(limit(), 200U);
}

TEST_F(MemoryLimitTest, VersionOneOfASlurmStep) {
  groups("11:cpu,cpuacct:/slurm\n4:memory:/slurm/uid_1000/job_7/step_0\n1:name=systemd:/init.scope\n0::/x\n");
  mounts(std::string(kCpu) + kMemory);
  write("/sys/fs/cgroup/memory/slurm/uid_1000/job_7/memory.limit_in_bytes", k200MiB);
  write("/sys/fs/cgroup/memory/slurm/uid_1000/job_7/step_0/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limit(), 200U);
  EXPECT_EQ(file(), "/sys/fs/cgroup/memory/slurm/uid_1000/job_7/memory.limit_in_bytes");
}

// Docker with version 1: the file system's part of this container is mounted, and the path is the host's.
TEST_F(MemoryLimitTest, VersionOneOfAContainer) {
  groups("4:memory:/docker/0123abcd\n");
  mounts("35 31 0:32 /docker/0123abcd /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", k300MiB);
  EXPECT_EQ(limit(), 300U);
  // Of a group around it that is not mounted here.
  write("/sys/fs/cgroup/memory/memory.stat", "cache 1\nrss 2\nhierarchical_memory_limit 209715200\n");
  EXPECT_EQ(limit(), 200U);
  groups("4:memory:/docker/another\n");
  EXPECT_EQ(limit(), 200U);
}

TEST_F(MemoryLimitTest, BothVersionsAndAnyPlace) {
  groups("4:memory:/a b\n0::/c\n");
  mounts(
      "35 31 0:32 / /mnt/my\\040groups rw master:1 propagate_from:2 - cgroup cgroup rw,memory\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  write("/mnt/my groups/a b/memory.limit_in_bytes", k300MiB);
  EXPECT_EQ(limit(), 300U);
  write("/sys/fs/cgroup/unified/c/memory.max", k200MiB);
  EXPECT_EQ(limit(), 200U);
}

}  // namespace
}  // namespace h5mount::cli

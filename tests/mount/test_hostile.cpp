// Small files that ask for much (tests/hostile/hostile_files.py): the mount answers every request, says what
// it refuses, and stays within its memory; what lies beside them is read as ever. Each command is ended by
// `run` after a minute: far more than any of them takes, far less than they took without bounds.
#include "h5py_directory.h"
#include "support/sanitized.h"

namespace h5mount::test {
namespace {

constexpr long kMiB = 1024;  // in KiB, as /proc counts
constexpr long kCache = 16 * kMiB;
// All memory above cache_size.
constexpr long kAbove = 128 * kMiB;

class HostileTest : public H5pyDirectoryTest {
 protected:
  void TearDown() override { end(); }
  // Ends the mount.
  void end() {
    if (pid_.empty()) return;
    EXPECT_EQ(
        run("kill -TERM " + pid_ + " && for i in $(seq 600); do kill -0 " + pid_ +
            " 2>/dev/null || exit 0; case $(cut -d' ' -f3 /proc/" + pid_ +
            "/stat 2>/dev/null) in Z|'') exit 0;; esac; sleep 0.01; done; kill -KILL " + pid_ + "; exit 1")
            .code,
        0)
        << "the mount outlived its SIGTERM";
    pid_.clear();
  }

  // Mounts the hostile file of that name.
  void start(const std::string& name, const std::string& environment = {}) {
    const std::string script = source_root() / "tests/hostile/hostile_files.py";
    const std::string file = (place / (name + ".h5")).string();
    const Outcome made = run("/usr/bin/python3 " + script + " " + name + " " + file, 300);
    ASSERT_EQ(made.code, 0) << made.err;
    start_file(file, "cache_size=16M", environment);
  }
  void start_file(const std::string& file, const std::string& options, const std::string& environment = {}) {
    const std::string pid_file = (place / "pid").string();
    run(environment + " $H5MOUNT -f -o " + options + " " + file + " " + mount.path() +
        " >/dev/null 2>&1 & echo $! >" + pid_file);
    ASSERT_TRUE(wait_until_serving(mount.path()));
    pid_ = slurp(pid_file);
    pid_.resize(pid_.find('\n'));
  }

  // The most memory that the mount had so far, KiB.
  long peak() const {
    return std::atol(run("awk '/VmHWM/ {print $2}' /proc/" + pid_ + "/status").out.c_str());
  }
  void expect_bounded_memory() const {
    const long most = peak();
    EXPECT_GT(most, 0);
    if (!kSanitized) EXPECT_LE(most, kCache + kAbove) << "KiB";  // sanitizers hold freed memory back
  }
  const std::string& pid() const { return pid_; }

  // Why a view does not show an object, by metadata.jsonl.
  std::string reason(const std::string& path, const std::string& view) const {
    return mount
        .in("/usr/bin/python3 -c 'import json; print(*[o[\"views\"][\"" + view +
            "\"] for o in map(json.loads, open(\".h5/metadata.jsonl\")) if o[\"path\"] == \"" + path +
            "\"])'")
        .out;
  }

 private:
  std::string pid_;
};

TEST_F(HostileTest, ATextWithoutEndIsRefused) {
  start("endless_text");
  EXPECT_EQ(mount.in("stat -c %s evil").out, "1\n");
  EXPECT_NE(mount.in("cat evil").err.find("File too large"), std::string::npos);
  EXPECT_NE(mount.in("getfattr --only-values -n user.hdf5.error evil").out.find("more work"),
            std::string::npos);
  EXPECT_EQ(mount.in("for i in $(seq 70); do stat evil >/dev/null & done; wait; wc -c <good").out, "800\n");
  expect_bounded_memory();
}

TEST_F(HostileTest, NumbersThatAreTooWideForDecimalDigits) {
  start("wide_time");
  EXPECT_NE(mount.in("getfattr -n user.t d").err.find("Argument list too long"), std::string::npos);
  EXPECT_EQ(mount.in("head -c 7 .h5/attributes/d@t").out, "\"0x0101");
  expect_bounded_memory();
}

TEST_F(HostileTest, NumbersThatTakeLongAreCharged) {
  start("wide_floats");
  EXPECT_NE(mount.in("getfattr -n user.f d").code, 0);
  EXPECT_EQ(mount.in("stat -c %s .h5/attributes/d@f").out, "1\n");
  EXPECT_NE(mount.in("cat .h5/attributes/d@f").err.find("File too large"), std::string::npos);
  EXPECT_NE(mount.in("cat .h5/text/many").err.find("File too large"), std::string::npos);
  EXPECT_EQ(mount.in("wc -c <many").out, "64000\n");
  expect_bounded_memory();
}

TEST_F(HostileTest, ChunksWithoutAnIndexAreCountedByArithmetic) {
  start("implicit_index");
  EXPECT_EQ(mount.in("stat -c '%s %b' d").out, "1099511627776 2147483648\n");
  EXPECT_EQ(mount.in("wc -c <good").out, "16\n");
  expect_bounded_memory();
}

TEST_F(HostileTest, DescriptionsAreBounded) {
  start("shared_type");
  EXPECT_EQ(mount.in("ls -l g | wc -l").out, "301\n");
  expect_bounded_memory();
}

// A type of 60 KB names columns of 4 GB.
TEST_F(HostileTest, NamesOfColumnsAreNotMultiplied) {
  start("wide_names");
  EXPECT_EQ(mount.in("cd .h5 && ls csv tsv ndjson parquet | grep -e long -e many | sort").out,
            "many_enums.csv\n"
            "many_enums.ndjson\n"
            "many_enums.tsv\n");
  EXPECT_EQ(reason("/long", "csv"), "column names too long\n");
  EXPECT_EQ(reason("/long", "ndjson"), "column names too long\n");
  EXPECT_EQ(reason("/many_enums", "parquet"), "names of columns or values too long\n");
  // 20 quotes are 42 bytes in CSV, a dot and five digits at most follow.
  EXPECT_EQ(mount.in("head -n 1 .h5/csv/short.csv | tr -cd , | wc -c").out, "65535\n");
  EXPECT_EQ(mount.in("wc -l <.h5/ndjson/short.ndjson").out, "2\n");
  EXPECT_EQ(mount.in("tail -c 4 .h5/parquet/some_enums.parquet").out, "PAR1");
  EXPECT_EQ(mount.in("wc -l <.h5/ndjson/many_enums.ndjson").out, "2\n");
  EXPECT_EQ(mount.in("wc -c <beside").out, "4\n");
  expect_bounded_memory();
}

// Paths to n nested groups have n^2 bytes together.
TEST_F(HostileTest, PathsOfNestedGroupsAreNotKeptOnceALevel) {
  start("deep_groups");
  for (const char* file : {"metadata.jsonl", "list.txt", "plain.zarr/.zmetadata", "v3.zarr/zarr.json"})
    EXPECT_NE(mount.in(std::string("cat .h5/") + file + " >/dev/null").err.find("File too large"),
              std::string::npos)
        << file;
  EXPECT_EQ(mount.in("for i in 1 2 3; do cat .h5/metadata.jsonl >/dev/null & done; wait; wc -c <beside").out,
            "4\n");
  expect_bounded_memory();
}

// To find out whether a group is a table its links are followed, each through others.
TEST_F(HostileTest, LinksThatLeadAroundAreFollowedForAWhile) {
  start("links_around");
  EXPECT_EQ(mount.in("ls -f .h5/csv/many | grep -c ^q").out, "100\n");
  EXPECT_EQ(mount.in("ls -f .h5/plain.zarr/many/q1 | grep -c ^x").out, "10\n");
  // The dimensions of a dataset without scales are numbered by a walk of the file, which these links held up
  // for over a minute.
  EXPECT_NE(mount.in("timeout 30 cat .h5/plain.zarr/s/.zattrs").code, 124);
  EXPECT_EQ(mount.in("wc -c <s").out, "3\n");
  expect_bounded_memory();
}

TEST_F(HostileTest, MappingsAreBounded) {
  start("shared_mappings");
  EXPECT_EQ(mount.in("ls -l | grep -c ' v'").out, "150\n");
  expect_bounded_memory();
}

TEST_F(HostileTest, TargetsThatNobodyCanFollowAreNotKept) {
  start("long_targets");
  EXPECT_EQ(mount.in("find . -path ./.h5 -prune -o -type l -name 's*' -print | wc -l").out, "480\n");
  EXPECT_NE(mount.in("readlink -v g3/s07").err.find("File name too long"), std::string::npos);
  expect_bounded_memory();
}

TEST_F(HostileTest, TextsOfAttributesAreHeldOnce) {
  start("shared_strings");
  EXPECT_EQ(mount
                .in("for i in $(seq 30); do getfattr -n user.big d >/dev/null 2>&1 & done; wait; "
                    "/usr/bin/python3 -c \"import os; "
                    "fds = [os.open('.h5/attributes/d@big', os.O_RDONLY) for i in range(40)]; "
                    "print([os.pread(fd, 3, 0) for fd in fds][-1])\"")
                .out,
            "b'[\"Q'\n");
  expect_bounded_memory();
}

TEST_F(HostileTest, ChunksThatNeedTooMuchMemoryAreRefused) {
  start("large_chunks");
  const Outcome read = mount.in("for i in 0 1 2 3; do head -c1 bomb$i & done; wait; wc -c <good");
  EXPECT_EQ(read.out, "800000\n");
  EXPECT_EQ(lines_in(read.err), 4) << read.err;
  EXPECT_NE(read.err.find("Cannot allocate memory"), std::string::npos) << read.err;
  EXPECT_NE(mount.in("getfattr --only-values -n user.hdf5.error bomb0").out.find("cache_size"),
            std::string::npos);
  expect_bounded_memory();
}

TEST_F(HostileTest, AListingOpensNoSources) {
  start("numbered_sources");
  EXPECT_EQ(mount.in("ls | grep -c evil").out, "12\n");
  EXPECT_EQ(mount.in("stat -c %s evil3").out, "80000\n");
  EXPECT_EQ(mount.in("tail -c 4 evil3 | od -An -tu1 | tr -d ' '").out, "0123\n");
  expect_bounded_memory();
}

TEST_F(HostileTest, DamagedObjectsOfAFileFromTheFutureAreListed) {
  start("damaged_headers");
  EXPECT_EQ(mount.in("ls | wc -l").out, "400\n");
  expect_bounded_memory();
}

TEST_F(HostileTest, SpillFilesLeaveHalfOfTheDisk) {
  H5MOUNT_NEEDS_ROOT();
  const std::string disk = (place / "disk").string();
  ASSERT_EQ(run("mkdir " + disk + " && mount -t tmpfs -o size=64m none " + disk).code, 0);
  const std::string script = source_root() / "tests/hostile/hostile_files.py";
  const std::string file = (place / "wide_rows.h5").string();
  ASSERT_EQ(run("/usr/bin/python3 " + script + " wide_rows " + file).code, 0);
  start_file(file, "cache_size=1M", "TMPDIR=" + disk);
  EXPECT_EQ(mount.in("for d in d*; do head -c1 $d | od -An -tu1; done | sort | uniq -c | tr -d ' \\n'").out,
            "241");
  EXPECT_LE(std::atol(run("df --output=used -k " + disk + " | tail -1").out.c_str()), 32 * kMiB);
  EXPECT_EQ(mount.in("cat d05 | wc -c").out, "8388608\n");
  run("umount -l " + disk);
}

// SIGTERM is obeyed although a request still runs: the plugin would hang for hours.
TEST_F(HostileTest, SigtermEndsWhatHangs) {
  write(R"(
from h5py import h5d, h5p, h5s, h5t, h5z
with h5py.File('hang.h5', 'w', libver='latest') as f:
    plist = h5p.create(h5p.DATASET_CREATE); plist.set_chunk((4096,))
    plist.set_filter(64003, h5z.FLAG_OPTIONAL, ())
    space = h5s.create_simple((4096 * 5000,), (h5s.UNLIMITED,))
    d = h5d.create(f.id, b'd', h5t.STD_U8LE, space, dcpl=plist)
    for i in range(5000): d.write_direct_chunk((4096 * i,), b'x' * 100))");
  start_file((place / "hang.h5").string(), "plugins=" + std::string(H5MOUNT_TEST_PLUGINS));
  run("cat " + mount.path("d") + " >/dev/null 2>&1 & sleep 1");
  EXPECT_EQ(run("kill -TERM " + pid() + "; for i in $(seq 800); do kill -0 " + pid() +
                " 2>/dev/null || exit 0; case $(cut -d' ' -f3 /proc/" + pid() +
                "/stat 2>/dev/null) in Z|'') exit 0;; esac; sleep 0.01; done; exit 1")
                .code,
            0);
  EXPECT_TRUE(mount.gone());
}

// A long file may ask for much work: here for minutes. It ends with the process that asked for it, and does
// not keep others waiting.
TEST_F(HostileTest, ReadersOfLongWorkCanBeKilled) {
  const std::string script = source_root() / "tests/hostile/hostile_files.py";
  const std::vector<std::pair<std::string, std::vector<std::string>>> readers = {
      {"endless_text", {"stat evil", "cat evil"}},
      {"nested_deflate", {"cat bomb", "dd if=bomb bs=1M iflag=direct", "dd if=bomb bs=64M"}}};
  for (const auto& [name, commands] : readers) {
    const std::string file = (place / (name + ".h5")).string();
    ASSERT_EQ(run("/usr/bin/python3 " + script + " " + name + " " + file + " && truncate -s 4G " + file).code,
              0);
    start_file(file, "cache_size=16M");
    for (const std::string& command : commands)
      for (const std::string signal : {"SIGKILL", "SIGINT"})
        EXPECT_EQ(kill(signal, command, pid()), "killed\n") << name << ": " << command << ": " << signal;
    run("cd " + mount.path() + "; for i in 1 2 3 4; do " + commands[0] + " >/dev/null 2>&1 & done; sleep 1");
    EXPECT_EQ(mount.in("timeout 20 wc -c <good").out,
              "800" + std::string(name == "endless_text" ? "" : "000") + "\n");
    EXPECT_EQ(mount.in("timeout 20 ls | wc -l").out, "2\n");
    end();
  }
}

TEST_F(HostileTest, FiveHundredReadersStayWithinTheMemory) {
  write(R"(
rng = np.random.default_rng(1)
with h5py.File('many.h5', 'w') as f:
    for i in range(8):
        data = rng.integers(0, 50, (512, 4096), 'u1')
        f.create_dataset('d%d' % i, data=data, chunks=(64, 512), compression='gzip'))");
  start_file((place / "many.h5").string(), "cache_size=16M");
  const auto readers = source_root() / "tests/mount/fixtures/five_hundred_readers.py";
  EXPECT_EQ(mount.in(python() + readers.string()).out, "0\n");
  expect_bounded_memory();
}

}  // namespace
}  // namespace h5mount::test

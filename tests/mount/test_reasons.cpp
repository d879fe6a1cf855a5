// Why a read failed: what the reader gets, user.hdf5.error and user.hdf5.sources, the log and the status of
// the mount.
#include "command.h"

namespace h5mount::test {
namespace {

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

#define EXPECT_HAS(text, word) EXPECT_NE(std::string(text).find(word), std::string::npos) << (text)
#define EXPECT_LACKS(text, word) EXPECT_EQ(std::string(text).find(word), std::string::npos) << (text)

// A directory of its own for files that a script with h5py writes.
class ReasonsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    H5MOUNT_NEEDS_FUSE();
    std::filesystem::create_directory(place);
  }
  void TearDown() override {
    run("umount -l " + mount.path() + " 2>/dev/null || fusermount3 -uz " + mount.path());
    std::error_code ignored;
    std::filesystem::remove_all(place, ignored);
  }
  // What the script prints.
  std::string write(const std::string& script) {
    const Outcome made =
        run("cd " + place.string() + " && " + python() + "-c '\nimport h5py, numpy, os\n" + script + "\n'");
    EXPECT_EQ(made.code, 0) << made.err;
    return made.out.substr(0, made.out.find('\n'));
  }
  void mount_it(const std::string& file, const std::string& options = {}) {
    const Outcome mounted = mount.mount(place / file, options);
    ASSERT_EQ(mounted.code, 0) << mounted.err;
  }
  std::string attribute(const std::string& name, const std::string& path) const {
    return mount.in("getfattr --only-values -n user.hdf5." + name + " " + path + " 2>&1").out;
  }
  // Without the first line, which says what memory there is.
  std::string log() const { return mount.in("tail -n +2 .h5/log").out; }
  std::string read_error(const std::string& path) const {
    const Outcome read = mount.in("cat " + path + " >/dev/null");
    EXPECT_NE(read.code, 0);
    return read.err;
  }

  std::filesystem::path place = scratch() / "reasons";
  MountPoint mount;
};

// The first bytes of the fourth chunk are others.
const char* const kDamagedChunk = R"(
with h5py.File("damaged.h5", "w") as file:
    d = file.create_dataset("run/data", data=numpy.arange(10000, dtype="<i4") // 500, chunks=(1000,), %s)
    info = d.id.get_chunk_info_by_coord((3000,))
with open("damaged.h5", "r+b") as raw:
    raw.seek(info.byte_offset)
    raw.write(b"\xff\xff\xff")
print(hex(info.byte_offset))
)";

class DamagedChunkTest : public ReasonsTest,
                         public ::testing::WithParamInterface<std::array<const char*, 2>> {};

TEST_P(DamagedChunkTest, IsNamedWithItsPlaceAndItsFilter) {
  const auto [filters, culprit] = GetParam();
  std::string script = kDamagedChunk;
  script.replace(script.find("%s"), 2, filters);
  const std::string offset = write(script);
  mount_it("damaged.h5");
  EXPECT_LACKS(mount.in("getfattr run/data").out, "user.hdf5.error");
  EXPECT_HAS(read_error("run/data"), "Input/output error");
  const std::string why = attribute("error", "run/data");
  for (const std::string& part :
       {std::string(culprit), std::string("chunk (3)"), std::string("elements from (3000)"), offset})
    EXPECT_HAS(why, part);
  EXPECT_HAS(mount.in("getfattr run/data").out, "user.hdf5.error");
  EXPECT_EQ(mount.in("head -c 1200 run/data | wc -c").out, "1200\n");
  read_error("run/data");
  // One line for one cause, however often it was met.
  const std::string lines = log();
  EXPECT_EQ(lines_in(lines), 1) << lines;
  EXPECT_HAS(lines, (place / "damaged.h5").string() + ": /run/data: ");
  EXPECT_HAS(lines, " error: ");
  EXPECT_HAS(lines, culprit);
  EXPECT_HAS(lines, offset);
  EXPECT_HAS(mount.in("cat .h5/status").out, "\nfailures_");
}

INSTANTIATE_TEST_SUITE_P(Filters, DamagedChunkTest,
                         ::testing::Values(std::array{"compression=\"gzip\"", "filter 1 (deflate)"},
                                           std::array{"fletcher32=True", "filter 3 (fletcher32)"},
                                           std::array{"compression=\"lzf\"", "filter 32000 (lzf)"},
                                           std::array{"shuffle=True, compression=\"gzip\", fletcher32=True",
                                                      "filter 3 (fletcher32)"},
                                           std::array{"shuffle=True, compression=\"gzip\"",
                                                      "filter 1 (deflate)"}));

TEST_F(ReasonsTest, AMissingFilterIsAWarningWithItsCure) {
  write(R"(
with h5py.File("filter.h5", "w") as file:
    file.create_dataset("run/data", data=numpy.arange(1000, dtype="<i4"), chunks=(100,), compression="gzip")
raw = open("filter.h5", "rb").read()
said = b"\x01\x00\x08\x00\x01\x00\x01\x00deflate\x00"
assert said in raw
open("filter.h5", "wb").write(raw.replace(said, b"\x31\x01" + said[2:]))
)");
  mount_it("filter.h5");
  EXPECT_HAS(read_error("run/data"), "not supported");
  for (const std::string& text : {attribute("error", "run/data"), log()}) {
    EXPECT_HAS(text, "filter 305 (lzo)");
    EXPECT_HAS(text, "plugins=");
  }
  EXPECT_HAS(log(), " warning: " + (place / "filter.h5").string() + ": /run/data: ");
}

const char* const kExternal = R"(
numpy.arange(10, dtype="<i4").tofile("raw.bin")
with h5py.File("external.h5", "w") as file:
    file.create_dataset("run/data", (10,), "<i4", external=[("raw.bin", 0, 40)])
)";

TEST_F(ReasonsTest, AMissingRawFileIsToldUntilItIsThere) {
  write(kExternal);
  std::filesystem::rename(place / "raw.bin", place / "away.bin");
  mount_it("external.h5");
  EXPECT_HAS(read_error("run/data"), "No such file");
  EXPECT_HAS(attribute("error", "run/data"), "raw.bin");
  EXPECT_HAS(attribute("sources", "run/data"), R"([{"file":"raw.bin","state":"missing","reason":")");
  EXPECT_HAS(log(), " warning: " + (place / "external.h5").string() + ": /run/data: ");
  std::filesystem::rename(place / "away.bin", place / "raw.bin");
  EXPECT_EQ(mount.in("wc -c <run/data").out, "40\n");
  EXPECT_EQ(mount.in("cat run/data | wc -c").out, "40\n");
  EXPECT_LACKS(mount.in("getfattr run/data").out, "user.hdf5.error");
  EXPECT_EQ(attribute("sources", "run/data"), R"([{"file":"raw.bin","state":"found"}])");
}

TEST_F(ReasonsTest, ARefusedRawFileIsAWarningWithItsCure) {
  write(kExternal);
  mount_it("external.h5", "-o external=none");
  EXPECT_HAS(read_error("run/data"), "Permission denied");
  EXPECT_HAS(attribute("sources", "run/data"), R"([{"file":"raw.bin","state":"refused","reason":")");
  for (const std::string& text : {attribute("error", "run/data"), log()}) {
    EXPECT_HAS(text, "raw.bin");
    EXPECT_HAS(text, "external=");
  }
  EXPECT_HAS(log(), " warning: ");
}

const char* const kVirtual = R"(
def part(name):
    with h5py.File(name, "w") as file: file["x"] = numpy.arange(10, dtype="<i4")
part("a.h5"); part("b.h5")
with h5py.File("virtual.h5", "w", libver="latest") as file:
    layout = h5py.VirtualLayout((3, 10), "<i4")
    for i, name in enumerate(("a.h5", "b.h5", "c.h5")): layout[i] = h5py.VirtualSource(name, "x", (10,))
    file.create_virtual_dataset("run/all", layout, fillvalue=7)
)";

TEST_F(ReasonsTest, AMissingVirtualSourceIsToldOnce) {
  write(kVirtual);
  mount_it("virtual.h5");
  EXPECT_EQ(log(), "");
  EXPECT_EQ(mount.in("ls -lR run | wc -l").code, 0);
  EXPECT_EQ(log(), "");  // nothing was used yet
  EXPECT_EQ(mount.in("tail -c 40 run/all | od -An -v -td4 | tr -s ' ' '\\n' | sort -u | tr -d '\\n'").out,
            "7");
  EXPECT_EQ(mount.in("cat run/all | wc -c").out, "120\n");
  const std::string lines = log();
  EXPECT_EQ(lines_in(lines), 1) << lines;
  EXPECT_HAS(lines,
             " warning: " + (place / "virtual.h5").string() + ": /run/all: virtual source c.h5:x is missing");
  EXPECT_HAS(mount.in("cat .h5/status").out, "\nmissing_sources: 1\n");
  const std::string sources = attribute("sources", "run/all");
  EXPECT_HAS(
      sources,
      R"([{"file":"a.h5","dataset":"x","state":"found"},{"file":"b.h5","dataset":"x","state":"found"},)"
      R"({"file":"c.h5","dataset":"x","state":"missing","reason":")");
  EXPECT_HAS(mount.in("getfattr run/all").out, "user.hdf5.sources");
}

TEST_F(ReasonsTest, RefusedAndUnreadableVirtualSources) {
  write(std::string(kVirtual) + "open(\"b.h5\", \"wb\").write(b\"not a file of HDF5\" * 1000)");
  mount_it("virtual.h5");
  EXPECT_HAS(attribute("sources", "run/all"), R"({"file":"b.h5","dataset":"x","state":"found","reason":")");
  EXPECT_HAS(read_error("run/all"), "Input/output error");
  EXPECT_HAS(attribute("error", "run/all"), "virtual source b.h5:x");
  run("umount " + mount.path() + " || fusermount3 -u " + mount.path());
  ASSERT_TRUE(mount.gone());
  mount_it("virtual.h5", "-o external=none");
  EXPECT_HAS(read_error("run/all"), "Permission denied");
  EXPECT_HAS(attribute("sources", "run/all"),
             R"([{"file":"a.h5","dataset":"x","state":"refused","reason":")");
  EXPECT_HAS(log(), "external=");
}

// Numbered sources are counted, not listed. Where none may be opened, the stored extent stands and reads
// fail.
TEST_F(ReasonsTest, NumberedSourcesAreBounded) {
  write(R"(
for i in range(3):
    with h5py.File(f"part-{i}.h5", "w") as file: file["x"] = numpy.full(10, i, dtype="<i4")
with h5py.File("numbered.h5", "w", libver="latest") as file:
    space = h5py.h5s.create_simple((3, 10), (h5py.h5s.UNLIMITED, 10))
    space.select_hyperslab((0, 0), (h5py.h5s.UNLIMITED, 1), (1, 1), (1, 10))
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_virtual(space, b"part-%b.h5", b"x", h5py.h5s.create_simple((10,)))
    whole = h5py.h5s.create_simple((3, 10), (h5py.h5s.UNLIMITED, 10))
    h5py.h5d.create(file.id, b"all", h5py.h5t.STD_I32LE, whole, plist)
)");
  mount_it("numbered.h5");
  EXPECT_EQ(attribute("sources", "all"),
            R"([{"file":"part-%b.h5","dataset":"x","state":"found","numbered":3}])");
  EXPECT_EQ(mount.in("cat all | wc -c").out, "120\n");
  EXPECT_EQ(log(), "");
  run("umount " + mount.path() + " || fusermount3 -u " + mount.path());
  ASSERT_TRUE(mount.gone());
  mount_it("numbered.h5", "-o external=none");
  EXPECT_EQ(mount.in("stat -c %s all").out, "120\n");
  EXPECT_HAS(read_error("all"), "Permission denied");
  EXPECT_HAS(attribute("error", "all"), "external=");
  EXPECT_HAS(attribute("sources", "all"), R"("state":"refused","numbered":0,"reason":")");
}

TEST_F(ReasonsTest, TheMountsOwnFiles) {
  mount_it(example().string());
  const std::string names = mount.in("ls .h5").out;
  for (const char* name : {"attributes", "external", "log", "npy", "sparse", "status"})
    EXPECT_HAS("\n" + names, std::string("\n") + name + "\n");
  EXPECT_EQ(mount.in("[ $(stat -c %s .h5/log) = $(cat .h5/log | wc -c) ] && wc -l <.h5/log").out, "1\n");
  const std::string status = mount.in("cat .h5/status").out;
  EXPECT_TRUE(status.starts_with("file: " + example().string() + "\nversion: " H5MOUNT_VERSION "\n"))
      << status;
  for (const char* name :
       {"uptime_seconds", "requests", "failures", "missing_sources", "open_files", "chunks_decoded",
        "stored_bytes_read", "cache_used", "cache_size", "memory_kib", "peak_memory_kib"})
    EXPECT_HAS(status, std::string("\n") + name + ": ");
  EXPECT_NE(mount.in("cat .h5/status").out, status);  // requests were made meanwhile
  // The size is that of what was opened, the content is new for each who opens it.
  const Outcome sizes = mount.in(python() + R"(-c '
import os
first = open(".h5/status", "rb")
text = first.read()
assert os.fstat(first.fileno()).st_size == len(text), (os.fstat(first.fileno()).st_size, len(text))
for _ in range(300): os.stat("."), os.listxattr(".")
second = open(".h5/status", "rb").read()
first.seek(0)
assert first.read() == text
assert second != text
try: os.open(".h5/log", os.O_WRONLY)
except OSError as why: assert why.errno == 30, why
else: raise AssertionError("opened for writing")
')");
  EXPECT_EQ(sizes.code, 0) << sizes.err;
}

TEST_F(ReasonsTest, AReaderOfTheLogIsGivenWhatComes) {
  write(std::string("kind = [\"gzip\", \"lzf\"]\n") + R"(
with h5py.File("two.h5", "w") as file:
    infos = []
    for name in "one", "two":
        d = file.create_dataset(name, data=numpy.arange(1000, dtype="<i4"), chunks=(100,), fletcher32=True)
        infos.append(d.id.get_chunk_info_by_coord((300,)))
with open("two.h5", "r+b") as raw:
    for info in infos:
        raw.seek(info.byte_offset)
        raw.write(b"\x55")
)");
  mount_it("two.h5", "-o log_level=error");
  const Outcome followed = mount.in(python() + R"(-c '
import os
def fail(name):
    try: open(name, "rb").read()
    except OSError as why: assert why.errno == 5, why
    else: raise AssertionError(name)
fail("one")
log = os.open(".h5/log", os.O_RDONLY)
first = os.read(log, 1 << 16)
assert first.count(b"\n") == 2 and b": /one: " in first, first
assert os.fstat(log).st_size == len(first)
assert os.read(log, 100) == b""
fail("two")
more = os.read(log, 1 << 16)
assert more.count(b"\n") == 1 and b": /two: " in more, more
assert os.fstat(log).st_size == len(first) + len(more)
assert os.pread(log, 1 << 16, 0) == first + more
')");
  EXPECT_EQ(followed.code, 0) << followed.err;
}

TEST_F(ReasonsTest, SigUsr1NamesTheFileAndTheLogHasIt) {
  const auto said = (scratch() / "usr1.log").string();
  ASSERT_EQ(
      run("$H5MOUNT -f " + example().string() + " " + mount.path() + " 2>" + said + " & echo $! >" + said +
          ".pid; for i in $(seq 100); do mountpoint -q " + mount.path() + " && break; sleep 0.05; done")
          .code,
      0);
  mount.in("cat observations/* >/dev/null 2>&1");
  run("kill -USR1 $(cat " + said + ".pid)");
  for (int i = 0; i < 250 && slurp(said).find("status:") == std::string::npos; ++i) ::usleep(20'000);
  const std::string line = slurp(said);
  EXPECT_HAS(line, "h5mount: " + example().string() + ": status: requests=");
  EXPECT_HAS(line, " chunks_decoded=");
  EXPECT_EQ(count(log(), ": status: requests="), 1);
}

}  // namespace
}  // namespace h5mount::test

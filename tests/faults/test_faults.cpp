// A mount whose source fails: what each fault does to readers, and that it ends with the fault. The source
// lies on a file system of the tests (fault_fs.cpp).
#include "mount/h5py_directory.h"
#include "support/h5py_file.h"

namespace h5mount::test {
namespace {

class FaultsTest : public H5pyDirectoryTest {
 protected:
  void SetUp() override {
    H5pyDirectoryTest::SetUp();
    if (IsSkipped()) return;
    faulty_ = place / "faulty";
    std::filesystem::create_directories(place / "source");
    std::filesystem::create_directories(faulty_);
    write_by("faults/source.py");
    const Outcome made = run(std::string(H5MOUNT_FAULT_FS) + " " + (place / "source").string() + " " +
                             (place / "rules").string() + " " + faulty_.string() + " -o max_threads=1000");
    ASSERT_EQ(made.code, 0) << made.err;
    chunk_ = slurp(place / "chunk");
    chunk_.pop_back();
  }
  void TearDown() override {
    if (faulty_.empty()) return;
    rules("");
    run("umount -l " + mount.path() + "; umount -l " + faulty_.string());
  }

  void mount_it() {
    const Outcome mounted = mount.mount(faulty_ / "f.h5", "-o cache_size=32M");
    ASSERT_EQ(mounted.code, 0) << mounted.err;
  }
  // Replaces the rules at once.
  void rules(const std::string& lines) const {
    std::ofstream(place / "next") << lines;
    std::filesystem::rename(place / "next", place / "rules");
  }
  bool sound(const std::string& name) const {
    std::string raw = name;
    std::ranges::replace(raw, '/', '-');
    return mount.in("cmp " + name + " " + (place / (raw + ".raw")).string()).code == 0;
  }
  // Drops what the kernel and the mount hold of the file.
  void forget() const { run("echo 1 > /proc/sys/vm/drop_caches"); }
  static constexpr std::uint64_t kChunk = 65536 * 8;  // bytes of /d
  bool same_part(const std::string& name, std::uint64_t begin, std::uint64_t end) const {
    return mount
               .in("cmp -i " + std::to_string(begin) + " -n " + std::to_string(end - begin) + " " + name +
                   " " + (place / (name + ".raw")).string())
               .code == 0;
  }
  Outcome read_element(const std::string& name, int element) const {
    return mount.in("dd if=" + name + " iflag=skip_bytes,count_bytes skip=" + std::to_string(8 * element) +
                    " count=8 status=none | od -An -td8 | tr -d ' '");
  }

  std::filesystem::path faulty_;
  std::string chunk_;  // "BEGIN END" in the sixth chunk of /d, which are the elements from 5 * 65536 on
};

TEST_F(FaultsTest, AReadErrorIsThatOfItsChunkAndEndsWithIt) {
  mount_it();
  rules("eio " + chunk_);
  const Outcome all = mount.in("cat d | head -c 1 >/dev/null; cat d >/dev/null");
  EXPECT_NE(all.code, 0);
  EXPECT_NE(all.err.find("Input/output error"), std::string::npos) << all.err;
  EXPECT_TRUE(same_part("d", 0, 5 * kChunk));
  EXPECT_TRUE(same_part("d", 6 * kChunk, 40 * kChunk));
  EXPECT_TRUE(sound("plain"));
  EXPECT_TRUE(sound("g/other"));
  EXPECT_EQ(mount.in("getfattr --only-values -n user.name g").out, "sound");
  EXPECT_NE(mount.in("getfattr --only-values -n user.hdf5.error d").out.find("Input/output error"),
            std::string::npos);
  rules("");
  EXPECT_TRUE(sound("d"));
  EXPECT_TRUE(sound("d"));  // and so it stays
}

TEST_F(FaultsTest, AReadErrorOfPlainDataIsThatOfItsBytes) {
  mount_it();
  const std::uint64_t begin = std::stoull(slurp(place / "plain_place")) + 400'000;
  rules("eio " + std::to_string(begin) + " " + std::to_string(begin + 8));
  EXPECT_NE(mount.in("cat plain >/dev/null").code, 0);
  EXPECT_EQ(read_element("plain", 7).out, "7\n");
  EXPECT_EQ(read_element("plain", 99999).out, "99999\n");
  EXPECT_TRUE(sound("d"));
  rules("");
  forget();
  EXPECT_TRUE(sound("plain"));
}

TEST_F(FaultsTest, ASweepForWhatIsDamagedGoesOnPastAReadError) {
  const std::string made = (place / "source" / "f.h5").string();
  run("dd if=/dev/zero of=" + made + " bs=48 count=1 conv=notrunc status=none");
  rules("eio " + chunk_);
  const Outcome mounted = mount.mount(faulty_ / "f.h5", "-o salvage");
  ASSERT_EQ(mounted.code, 0) << mounted.err;
  EXPECT_TRUE(sound("plain"));
  EXPECT_TRUE(sound("g/other"));
  EXPECT_TRUE(same_part("d", 0, 5 * kChunk));
  EXPECT_NE(mount.in("cat d >/dev/null").code, 0);
  EXPECT_NE(mount.in("grep '^salvage_unreadable: [1-9]' .h5/status").out, "");
  EXPECT_EQ(mount.in("grep -c 'were passed over, as they cannot be read' .h5/log").out, "1\n");
  const Outcome checked = run("$(dirname $H5MOUNT)/fsck.h5 --salvage " + (faulty_ / "f.h5").string());
  EXPECT_NE((checked.out + checked.err).find("was passed over"), std::string::npos) << checked.out;
}

// A page of /plain and a chunk of /d: both are given with the fill value for what the disk does not give.
TEST_F(FaultsTest, WhatCannotBeReadIsFilled) {
  const std::uint64_t begin = std::stoull(slurp(place / "plain_place")), bad = begin + 400'000;
  rules("eio " + chunk_ + "\neio " + std::to_string(bad) + " " + std::to_string(bad + 8));
  const Outcome mounted = mount.mount(faulty_ / "f.h5", "-o salvage=fill");
  ASSERT_EQ(mounted.code, 0) << mounted.err;
  EXPECT_TRUE(sound("g/other"));
  EXPECT_EQ(mount.in("cat plain > /dev/null && cat d > /dev/null").code, 0);
  EXPECT_TRUE(same_part("plain", 0, bad / 4096 * 4096 - begin));
  EXPECT_TRUE(same_part("plain", (bad / 4096 + 1) * 4096 - begin, 800'000));
  EXPECT_EQ(read_element("plain", 50'000).out, "0\n");
  EXPECT_TRUE(same_part("d", 0, 5 * kChunk));
  EXPECT_TRUE(same_part("d", 6 * kChunk, 40 * kChunk));
  const auto told = [&](const std::string& name) {
    return mount.in("getfattr --only-values -n user.hdf5.salvage " + name).out;
  };
  EXPECT_NE(told("plain").find("\"filled\":4096}"), std::string::npos) << told("plain");
  EXPECT_NE(told("d").find("\"filled\":" + std::to_string(kChunk) + "}"), std::string::npos) << told("d");
  EXPECT_EQ(told("g/other"), "");
}

TEST_F(FaultsTest, AnIndexThatCannotBeReadStartsTheSweep) {
  std::string lines;
  for (const std::size_t at : places_of(read_whole_file(place / "source" / "f.h5"), "TREE\x01"))
    lines += "eio " + std::to_string(at) + " " + std::to_string(at + 24) + "\n";
  ASSERT_NE(lines, "");
  rules(lines);
  const Outcome mounted = mount.mount(faulty_ / "f.h5", "-o salvage");
  ASSERT_EQ(mounted.code, 0) << mounted.err;
  EXPECT_TRUE(sound("plain"));
  EXPECT_NE(mount.in("grep '^salvage_swept: 0' .h5/status").out, "") << "no index is needed for it";
  mount.in("cat d > /dev/null");
  EXPECT_EQ(mount.in("grep '^salvage_swept: 0' .h5/status").out, "");
  EXPECT_NE(mount.in("getfattr --only-values -n user.hdf5.salvage d").out, "");
}

TEST_F(FaultsTest, ShortReadsAreContinued) {
  rules("short 777");
  mount_it();
  EXPECT_TRUE(sound("d"));
  EXPECT_TRUE(sound("plain"));
  EXPECT_TRUE(sound("g/other"));
}

TEST_F(FaultsTest, SlowReadsAreRight) {
  rules("delay 3");
  mount_it();
  const Outcome all = mount.in("sh -c 'for n in d plain g/other; do cat $n | md5sum & done; wait' | sort");
  rules("");
  EXPECT_EQ(
      all.out,
      run("cd " + place.string() + " && for n in d plain g-other; do md5sum < $n.raw; done | sort").out);
}

// Readers of a chunk that the source does not give wait for it, and so do those of chunks that are decoded
// together with it; everybody else is served.
TEST_F(FaultsTest, AHangHoldsUpNobodyElse) {
  mount_it();
  ASSERT_TRUE(same_part("d", 0, kChunk));
  rules("hang " + chunk_);
  run("for i in 1 2 3 4; do (cat " + mount.path("d") + " > " + (place / "late").string() +
      "$i 2>/dev/null &) ; done");
  EXPECT_TRUE(sound("g/other"));
  EXPECT_TRUE(sound("plain"));
  EXPECT_EQ(mount.in("ls g").out, "other\n");
  EXPECT_EQ(mount.in("getfattr --only-values -n user.name g").out, "sound");
  EXPECT_TRUE(same_part("d", 39 * kChunk, 40 * kChunk));
  rules("");
  // The waiting readers go on where they were.
  for (int i = 1; i <= 4; ++i)
    EXPECT_EQ(run("cd " + place.string() + "; for i in $(seq 300); do cmp -s late" + std::to_string(i) +
                  " d.raw && exit 0; sleep .1; done; exit 1")
                  .code,
              0)
        << i;
}

// The file system, not the mount, decides how long its own readers wait; but the mount ends.
TEST_F(FaultsTest, AMountWhoseSourceHangsCanBeUnmounted) {
  mount_it();
  rules("hang " + chunk_);
  run("(timeout -s KILL 60 cat " + mount.path("d") + " >/dev/null 2>&1 &)");
  run("sleep .5");
  EXPECT_EQ(run("umount -l " + mount.path()).code, 0);
  rules("");
  EXPECT_TRUE(mount.gone());
  EXPECT_EQ(run("for i in $(seq 200); do pgrep -f '" + (faulty_ / "f.h5").string() +
                "' >/dev/null || exit 0; sleep .1; done; exit 1")
                .code,
            0);
}

// Whatever the source does: a reader that is killed is gone, however it reads.
TEST_F(FaultsTest, ReadersOfAHangCanBeKilled) {
  mount_it();
  rules("hang " + chunk_);
  const std::string at = "skip=" + std::to_string(5 * kChunk) + " iflag=skip_bytes";
  for (const std::string signal : {"SIGKILL", "SIGINT"}) {
    EXPECT_EQ(kill(signal, "cat d"), "killed\n") << signal;
    EXPECT_EQ(kill(signal, "dd if=d bs=4096 count=1 " + at), "killed\n") << signal;
    EXPECT_EQ(kill(signal, "dd if=d bs=4096 count=1 " + at + ",direct"), "killed\n") << signal;
    EXPECT_EQ(kill(signal, "stat .h5/csv/d.csv"), "killed\n") << signal;  // it takes a pass to measure
    EXPECT_EQ(kill(signal, "cat .h5/text/d"), "killed\n") << signal;
  }
  EXPECT_TRUE(sound("g/other"));
  rules("");
  EXPECT_TRUE(sound("d"));
}

// The extent of a dataset over numbered sources is known when all of them were opened.
TEST_F(FaultsTest, ReadersOfNumberedSourcesThatHangCanBeKilled) {
  write_by("faults/numbered_sources.py");
  const Outcome mounted = mount.mount(faulty_ / "n.h5");
  ASSERT_EQ(mounted.code, 0) << mounted.err;
  rules("hang " + slurp(place / "header"));
  for (const std::string signal : {"SIGKILL", "SIGINT"}) {
    EXPECT_EQ(kill(signal, "stat numbered"), "killed\n") << signal;
    EXPECT_EQ(kill(signal, "cat numbered"), "killed\n") << signal;
    EXPECT_EQ(kill(signal, "cat .h5/csv/numbered.csv"), "killed\n") << signal;
    EXPECT_EQ(kill(signal, "getfattr -d -m- numbered"), "killed\n") << signal;
  }
  EXPECT_EQ(mount.in("wc -c <beside").out, "400\n");
  rules("");
  EXPECT_EQ(mount.in("od -An -td4 -w4 numbered | tail -n 2 | tr -d '\n '").out, "162163");
  EXPECT_EQ(mount.in("stat -c %s numbered").out, "656\n");
}

// Readers of every kind, each of a place of its own, more of them than the mount has threads.
TEST_F(FaultsTest, ManyReadersOfAHangHoldUpNobodyElse) {
  mount_it();
  ASSERT_TRUE(same_part("d", 0, kChunk));
  std::ofstream(place / "readers.py") << R"(
import mmap, os, sys, threading
def read(i):
    fd = os.open('d', os.O_RDONLY | (os.O_DIRECT if i % 2 else 0))
    at = (5 + i % 30) * 524288 + i // 30 * 4096
    if i % 2: os.preadv(fd, [mmap.mmap(-1, 4096)], at)
    else: os.pread(fd, 100, at)
for i in range(int(sys.argv[1])): threading.Thread(target=read, args=(i,)).start()
)";
  const std::string data = "hang " + slurp(place / "data");
  for (const std::string readers : {"64", "200"}) {
    rules(data);
    run("cd " + mount.path() + "; exec /usr/bin/python3 " + (place / "readers.py").string() + " " + readers +
        " >/dev/null 2>&1 & echo $! >" + (place / "readers").string());
    run("sleep 2");
    EXPECT_EQ(mount.in("timeout 20 ls .").out, "d\ng\nplain\n") << readers;
    EXPECT_EQ(mount.in("timeout 20 stat -c %s plain").out, "800000\n") << readers;
    EXPECT_EQ(mount.in("timeout 20 getfattr --only-values -n user.name g").out, "sound") << readers;
    forget();
    EXPECT_TRUE(same_part("d", 0, kChunk)) << readers;  // in the mount's cache
    EXPECT_TRUE(sound("g/other")) << readers;
    EXPECT_TRUE(sound("plain")) << readers;
    EXPECT_EQ(run("p=$(cat " + (place / "readers").string() + "); kill -KILL $p; for i in $(seq 200); do " +
                  "test -e /proc/$p/fd/0 || exit 0; sleep .05; done; exit 1")
                  .code,
              0)
        << readers;
    EXPECT_TRUE(sound("g/other")) << readers;
    rules("");
    EXPECT_TRUE(sound("d")) << readers;
  }
}

TEST_F(FaultsTest, AMountWithManyReadersOfAHangEnds) {
  const std::string data = "hang " + slurp(place / "data");
  const std::string readers =
      "(for i in $(seq 70); do dd if=d of=/dev/null bs=4096 count=1 iflag=skip_bytes skip=$((2621440 + "
      "524288*(i%30) + 4096*i)) 2>/dev/null & done); sleep 2";
  const std::string gone = "for i in $(seq 160); do pgrep -f '" + (faulty_ / "f.h5").string() +
                           "' >/dev/null || exit 0; sleep .05; done; exit 1";
  mount_it();
  rules(data);
  mount.in(readers);
  EXPECT_EQ(run("pkill -TERM -f '^[^ ]*h5mount .*" + (faulty_ / "f.h5").string() + "'").code, 0);
  EXPECT_EQ(run(gone).code, 0);
  EXPECT_TRUE(mount.gone());
  rules("");
  mount_it();
  rules(data);
  mount.in(readers);
  EXPECT_EQ(run("umount -l " + mount.path()).code, 0);
  EXPECT_TRUE(mount.gone());
  // The readers keep it; it goes with them.
  EXPECT_EQ(run("pkill -KILL -f '^dd if=d of=/dev/null bs=4096 count=1 iflag=skip_bytes'; " + gone).code, 0);
}

// No crash, and no byte of a file that is no longer the one that was mounted.
TEST_F(FaultsTest, ASourceThatIsCutIsStale) {
  mount_it();
  EXPECT_TRUE(sound("g/other"));
  rules("size 4000");
  forget();
  const Outcome read = mount.in("cat plain >/dev/null");
  EXPECT_NE(read.code, 0);
  EXPECT_TRUE(read.err.find("Stale file handle") != std::string::npos ||
              read.err.find("Input/output error") != std::string::npos)
      << read.err;
  EXPECT_TRUE(mount.mounted());
  EXPECT_NE(run("cat " + mount.path(".h5/log")).out.find("f.h5"), std::string::npos);
}

}  // namespace
}  // namespace h5mount::test

// The option salvage of the commands, and what they tell of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "mount/command.h"
#include "support/h5py_file.h"
#include "support/sanitized.h"

namespace h5mount::test {
namespace {

class SalvageCommands : public testing::Test {
 protected:
  void SetUp() override {
    auto bytes = written_with_h5py(
        "import numpy as np\n"
        "g = f.create_group('g')\n"
        "f['plain'] = np.arange(300)\n"
        "g.create_dataset('packed', data=np.arange(4000), chunks=(100,), compression=1)\n");
    ASSERT_FALSE(bytes.empty());
    write("sound.h5", bytes);
    const auto at = places_of(bytes, "FAHD");
    ASSERT_EQ(at.size(), 1U);
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at[0]), 16, std::byte{0xA5});
    write("damaged.h5", bytes);
    const auto headers = places_of(bytes, "OHDR");
    ASSERT_GE(headers.size(), 2U);
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(headers[1]), 16,
                std::byte{0xA5});  // of the group
    write("headless.h5", bytes);
  }

  static void write(const std::string& name, const std::vector<std::byte>& bytes) {
    std::filesystem::create_directories(scratch() / "files");
    std::ofstream out(scratch() / "files" / name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  // A file whose writer died: its flags say that it is open for writing.
  static void leave_open(const std::string& name) {
    const std::string script = "import h5py, os; f = h5py.File('" + name +
                               "', 'w', libver='latest'); f['x'] = 1; f.flush(); os._exit(0)";
    ASSERT_EQ(in_files("/usr/bin/python3 -c \"" + script + "\"").code, 0);
  }
  // `command` has the directory of the files as its working directory.
  static Outcome in_files(const std::string& command) {
    return run("cd " + (scratch() / "files").string() + " && " + command);
  }
  static bool says(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  }
};

TEST_F(SalvageCommands, WhatItDidIsToldWhereverAnObjectIs) {
  for (const char* command : {"--stat -o salvage damaged.h5 /g/packed", "--list -l -o salvage damaged.h5 /g",
                              "--cat -o salvage damaged.h5 /.h5/metadata.jsonl", "--list -lR -o salvage ."}) {
    const Outcome done = in_files(std::string("$H5MOUNT ") + command);
    EXPECT_EQ(done.code, 0) << command << done.err;
    EXPECT_TRUE(says(done.out, "found_by")) << command << done.out;
  }
  const Outcome checked = in_files("$(dirname $H5MOUNT)/fsck.h5 --salvage damaged.h5");
  EXPECT_TRUE(says(checked.out, "found_by")) << checked.out;
}

TEST_F(SalvageCommands, ASoundFileTellsNothing) {
  const Outcome done = in_files(
      "$H5MOUNT --list -lR -o salvage sound.h5 && $H5MOUNT --stat -o salvage sound.h5 /g/packed && "
      "$H5MOUNT --cat -o salvage sound.h5 /.h5/metadata.jsonl");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_FALSE(says(done.out, "salvage")) << done.out;
  EXPECT_FALSE(says(done.out, "lost+found")) << done.out;
}

TEST_F(SalvageCommands, ChunksOfNothingButZerosAreTold) {
  auto bytes = written_with_h5py(
      "import numpy as np\n"
      "f.create_dataset('d', data=np.arange(1, 4001), chunks=(100,), fletcher32=True)\n");
  const auto at = std::ranges::search(bytes, std::as_bytes(std::span("\x65\0\0\0\0\0\0\0\x66", 9)));
  ASSERT_FALSE(at.empty());  // the second chunk
  std::fill_n(at.begin(), 804, std::byte{0});
  write("zeros.h5", bytes);
  const Outcome told = in_files("$H5MOUNT --stat -o salvage zeros.h5 /d");
  EXPECT_TRUE(says(told.out, R"(\"guessed\":[[800,1600]])")) << told.out;
  const Outcome checked = in_files("$(dirname $H5MOUNT)/fsck.h5 --salvage zeros.h5");
  EXPECT_EQ(checked.code, 0) << checked.out;
  EXPECT_TRUE(says(checked.out, "note: Chunk.bytes")) << checked.out;
  EXPECT_TRUE(says(checked.out, R"("guessed":[[800,1600]])")) << checked.out;
}

// A chunk of ten words is filled with empty ones, each of which is a line.
TEST_F(SalvageCommands, RangesOfTextAreThoseOfItsFile) {
  auto bytes = written_with_h5py(
      "f.create_dataset('words', data=['word'] * 100, chunks=(10,), compression='gzip', "
      "dtype=h5py.string_dtype())\n",
      "latest");
  const auto chunks = places_of(bytes, "\x78\x5e");
  ASSERT_EQ(chunks.size(), 10U);
  bytes[chunks[3] + 6] ^= std::byte{0x55};
  write("words.h5", bytes);
  const Outcome told = in_files("$H5MOUNT --stat -o salvage=fill words.h5 /words");
  EXPECT_TRUE(says(told.out, R"(\"missing\":[[150,160]],\"filled\":10)")) << told.out;
  const Outcome read = in_files("$H5MOUNT --cat -o salvage=fill words.h5 /words | sed -n '30p;31p;40p;41p'");
  EXPECT_EQ(read.out, "word\n\n\nword\n");
}

// What takes up no space on the disk takes no time.
TEST_F(SalvageCommands, HolesAreNotSwept) {
  const std::string sparse =
      "cp headless.h5 sparse.h5 && truncate -s 64G sparse.h5 && "
      "dd if=sound.h5 of=sparse.h5 bs=1M seek=40000 conv=notrunc status=none && ";
  const auto began = std::chrono::steady_clock::now();
  const Outcome listed = in_files(sparse + "$H5MOUNT --list -R -o salvage sparse.h5; rm sparse.h5");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20))
      << "a read of it takes minutes";
  EXPECT_TRUE(says(listed.out, "plain")) << listed.out << listed.err;
}

// A file of 4 MiB with 40,000 headers of datasets that claim more than it has.
TEST_F(SalvageCommands, MemoryIsBoundedByWhatIsTold) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have a heap of their own";
  const auto one = written_with_h5py(
      "from h5py import h5d, h5p, h5s, h5t\n"
      "h5d.create(f.id, b'd', h5t.STD_U8LE, h5s.create_simple((1 << 40,)))\n"
      "f.close(); f = h5py.File(sys.argv[1], 'r+', libver='latest')\n",
      "latest");
  const auto headers = places_of(one, "OHDR");
  ASSERT_EQ(headers.size(), 2U);
  const std::size_t length = std::min<std::size_t>(one.size() - headers[1], 128);
  std::vector<std::byte> bytes(one);
  for (int i = 0; i < 40'000; ++i)
    bytes.insert(bytes.end(), one.begin() + static_cast<std::ptrdiff_t>(headers[1]),
                 one.begin() + static_cast<std::ptrdiff_t>(headers[1] + length));
  write("claims.h5", bytes);
  const Outcome peak = in_files(
      "/usr/bin/python3 -c \"import os, resource, subprocess; "
      "subprocess.run([os.environ['H5MOUNT'], '--list', '-R', '-o', 'salvage,cache_size=1M', 'claims.h5'], "
      "stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\"");
  EXPECT_LT(std::stoul(peak.out), 80'000U) << "KiB; with 2.7 KB for each object they were more than 120,000";
}

TEST_F(SalvageCommands, AnErrorThatItCouldCureNamesIt) {
  for (const char* command : {"--cat damaged.h5 /g/packed", "--stat damaged.h5 /g/packed",
                              "--list -lR damaged.h5", "--list -l damaged.h5 /g", "--tar damaged.h5",
                              "--list -l headless.h5", "--cat headless.h5 /g/packed"}) {
    const Outcome read = in_files(std::string("$H5MOUNT ") + command + " > out");
    EXPECT_NE(read.code, 0) << command;
    EXPECT_TRUE(says(read.err, "-o salvage")) << command << read.err;
  }
  const Outcome missing = in_files("$H5MOUNT --cat damaged.h5 /g/other");
  EXPECT_FALSE(says(missing.err, "-o salvage")) << missing.err;
  const Outcome checked = in_files("$(dirname $H5MOUNT)/fsck.h5 damaged.h5");
  EXPECT_TRUE(says(checked.err, "--salvage")) << checked.err;
}

TEST_F(SalvageCommands, TheStatusCountsWhatWasSweptAndFound) {
  const Outcome sound = in_files("$H5MOUNT --cat -o salvage damaged.h5 /plain /.h5/status");
  EXPECT_TRUE(says(sound.out, "salvage_swept: 0\nsalvage_found: 0\n")) << sound.out;
  const Outcome swept = in_files("$H5MOUNT --cat -o salvage damaged.h5 /g/packed /.h5/status");
  EXPECT_TRUE(says(swept.out, "salvage_swept: ")) << swept.out;
  EXPECT_FALSE(says(swept.out, "salvage_swept: 0\n"));
  EXPECT_TRUE(says(swept.out, "salvage_found: 1\n"));
}

// The process that has the file open is the shell.
TEST_F(SalvageCommands, AFileThatAWriterHasOpenIsNotSalvagedUnlessForced) {
  const Outcome refused = in_files("exec 3<>damaged.h5 && $H5MOUNT --cat -o salvage damaged.h5 /g/packed");
  EXPECT_NE(refused.code, 0);
  EXPECT_TRUE(says(refused.err, "is open for writing by process")) << refused.err;
  leave_open("left.h5");
  const Outcome locked =
      in_files("exec 3<>left.h5 && flock -x 3 && $H5MOUNT --cat -o salvage left.h5 /x 3>&-");
  EXPECT_NE(locked.code, 0);
  EXPECT_TRUE(says(locked.err, "is open for writing by process")) << locked.err;
  const Outcome forced =
      in_files("exec 3<>damaged.h5 && $H5MOUNT --cat -o salvage,force damaged.h5 /g/packed");
  EXPECT_EQ(forced.code, 0) << forced.err;
  EXPECT_EQ(forced.out.size(), 32'000U);
  const Outcome plain = in_files("exec 3<>damaged.h5 && $H5MOUNT --cat -o salvage damaged.h5 /plain");
  EXPECT_EQ(plain.code, 0) << plain.err;
}

// A writer of another container is not among the processes that can be seen. The flags say that it has the
// file open, or that it died.
TEST_F(SalvageCommands, ALockTellsOfAWriterThatCannotBeSeen) {
  const std::string apart = "unshare --pid --fork --mount-proc ";
  if (run(apart + "true").code != 0) GTEST_SKIP() << "no namespace of processes can be made";
  leave_open("left.h5");
  const std::string salvage = apart + "$H5MOUNT --cat -o salvage left.h5 /x";
  const Outcome left = in_files(salvage);
  EXPECT_EQ(left.out.size(), 8U) << left.err;
  const Outcome locked = in_files("exec 3<>left.h5 && flock -x 3 && " + salvage + " 3>&- | cat");
  EXPECT_TRUE(says(locked.err, "is locked by a writer")) << locked.err;
  EXPECT_EQ(locked.out, "");
}

}  // namespace
}  // namespace h5mount::test

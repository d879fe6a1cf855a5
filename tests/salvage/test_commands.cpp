// The option salvage of the commands, and what they tell of it.
#include <gtest/gtest.h>

#include "mount/command.h"
#include "support/h5py_file.h"

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

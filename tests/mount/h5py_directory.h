// A directory of HDF5 files that a test writes with h5py.
#pragma once

#include "command.h"

namespace h5mount::test {

class H5pyDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    H5MOUNT_NEEDS_FUSE();
    static int counter = 0;
    place = scratch() / ("files" + std::to_string(counter++));
    std::filesystem::create_directory(place);
    run("chmod 755 " + scratch().string() + " " + place.string());
  }

  // Runs Python statements in the directory.
  void write(const std::string& statements) const {
    const Outcome made =
        run("cd " + place.string() + " && /usr/bin/python3 - <<'END'\nimport h5py, numpy as np, os\n" +
                statements + "\nEND",
            300);
    ASSERT_EQ(made.code, 0) << made.err;
  }
  // The same with a program of fixtures/.
  void write_by(const std::string& program, const std::string& words = {}) const {
    const auto file = source_root() / "tests/mount/fixtures" / program;
    const Outcome made =
        run("cd " + place.string() + " && " + fixture_python() + file.string() + " " + words, 300);
    ASSERT_EQ(made.code, 0) << made.err;
  }
  // The interpreter for programs that import modules of fixtures/, where it stores nothing.
  static std::string fixture_python() {
    return "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + (source_root() / "tests/mount/fixtures").string() + " " +
           python();
  }
  // Kills the command while it reads (kill_reader.py); "killed\n" where it is gone at once. With the process
  // id of the mount, which must then come to rest.
  std::string kill(const std::string& signal, const std::string& command,
                   const std::string& idle = {}) const {
    const std::string script = source_root() / "tests/mount/kill_reader.py";
    return mount
        .in("/usr/bin/python3 " + script + (idle.empty() ? "" : " --idle " + idle) + " " + signal + " " +
            command)
        .out;
  }
  // A command in the mount, as a user who owns nothing there.
  Outcome as_nobody(const std::string& command) const {
    return mount.in("setpriv --reuid=65534 --regid=65534 --clear-groups sh -c '" + command + "'");
  }
  bool mounts(const std::string& file, const std::string& options = {}) {
    const Outcome mounted = mount.mount(place / file, options);
    said = mounted.err;
    return mounted.code == 0;
  }

  std::filesystem::path place;
  MountPoint mount;
  std::string said;  // by the program when it mounted
};

}  // namespace h5mount::test
